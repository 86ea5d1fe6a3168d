"""The component package: `InferenceStack` for Pulumi programs in any language, in a process of its own."""
