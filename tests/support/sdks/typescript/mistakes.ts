// Mistakes that the compiler of TypeScript sees, but for the service `known`, which has none.
import * as pulumi from "@pulumi/pulumi";
import { InferenceStack } from "@inference-stacks/pulumi";

new InferenceStack("without-namespace", { services: {} });
new InferenceStack("prod", {
    namespace: "models",
    services: {
        known: { model: { source: "hf://Qwen/Qwen3-0.6B" } },
        misspelt: { model: { sorce: "hf://Qwen/Qwen3-0.6B" } },
        number: { replicas: "two" },
        word: { storage: { type: "dedicated", accessMode: "ReadWriteSome" } },
        late: { model: { source: pulumi.output("hf://Qwen/Qwen3-0.6B") } },
        typed: { autoscaling: { type: "hpa", maxReplicas: 2, metrics: [{ type: "queue-size" }] } },
    },
});
