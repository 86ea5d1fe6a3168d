// The stack of README.
import { InferenceStack } from "@inference-stacks/pulumi";

const stack = new InferenceStack("prod", {
    namespace: "models",
    namespaceOptions: { create: true },
    gateway: { name: "inference-gateway", namespace: "gateways", provider: "istio" },
    services: {
        qwen: {
            model: { source: "hf://Qwen/Qwen3-0.6B@c1899de289a04d12100db370d81485cdf75e47ca" },
            accelerator: "nvidia",
        },
    },
});

export const urls = stack.services.apply((services) => services.qwen.urls);
export const ready = stack.services.apply((services) => services.qwen.ready);
export const pool = stack.services.apply((services) => services.qwen.primary.pool?.name);
