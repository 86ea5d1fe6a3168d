// A stack with an editor's cursor at nested keys.
import { InferenceStack } from "@inference-stacks/pulumi";

const stack = new InferenceStack("prod", {
    namespace: "models",
    checks: { fit: "strict", /* ▮ checks */ },
    caches: { weights: { source: "s3://models/qwen", /* ▮ caches.* */ } },
    services: {
        qwen: {
            model: { source: "hf://Qwen/Qwen3-0.6B", /* ▮ services.*.model */ },
            endpointPicker: { tls: { type: "certificate", /* ▮ services.*.endpointPicker.tls */ } },
            autoscaling: {
                type: "keda",
                maxReplicas: 4,
                metrics: [{ type: "queue-size", target: 5 }],
                /* ▮ services.*.autoscaling */
            },
            pod: {
                tolerations: [{ operator: "Exists", /* ▮ services.*.pod.tolerations[] */ }],
                volumes: { keys: { type: "secret", name: "keys", /* ▮ services.*.pod.volumes.* */ } },
            },
        },
    },
    /* ▮ top */
});

stack.services.apply((services) => services.qwen.primary./* ▮ outputs */ roles);
