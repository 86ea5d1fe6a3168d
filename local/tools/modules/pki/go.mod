module inference-stacks.local/tools/pki

go 1.26.0
