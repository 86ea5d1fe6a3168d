module inference-stacks.local/tools/crds

go 1.26.0

require (
	github.com/kedacore/keda/v2 v2.18.0
	github.com/prometheus-operator/prometheus-operator v0.85.0
	istio.io/api v1.28.0
	sigs.k8s.io/gateway-api v1.4.0
	sigs.k8s.io/gateway-api-inference-extension v1.5.0
	sigs.k8s.io/lws v0.9.0
)
