// A stack with the SDK of the package: nested keys, and values of several types.
package main

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"inference-stacks.io/sdk/go/inferencestacks"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		stack, err := inferencestacks.NewInferenceStack(ctx, "prod", &inferencestacks.InferenceStackArgs{
			Namespace:        "models",
			NamespaceOptions: &inferencestacks.NamespaceOptionsArgs{Create: pulumi.BoolRef(true)},
			Gateway: &inferencestacks.GatewayArgs{
				Name:      "inference-gateway",
				Namespace: pulumi.StringRef("gateways"),
				Provider:  inferencestacks.GatewayProviderIstio,
			},
			Services: map[string]inferencestacks.ServiceArgs{
				"qwen": {
					Model: &inferencestacks.ModelArgs{
						Source: pulumi.StringRef("hf://Qwen/Qwen3-0.6B@c1899de289a04d12100db370d81485cdf75e47ca"),
					},
					Accelerator: pulumi.StringRef("nvidia"),
					KvCache:     &inferencestacks.KvCacheArgs{BlockSize: 16},
					Autoscaling: inferencestacks.HpaAutoscalingArgs{
						Type:        pulumi.StringRef("hpa"),
						MaxReplicas: pulumi.IntRef(4),
						Metrics:     []interface{}{inferencestacks.RequestMetricArgs{Type: "queue-size", Target: 5}},
					},
				},
			},
		})
		if err != nil {
			return err
		}
		ctx.Export("services", stack.Services)
		return nil
	})
}
