// Command cyclonus says which flows a set of NetworkPolicies lets through. It reads one JSON document from standard input,
// with `policies` as the API has them and `flows` between peers, and writes for each flow whether its source may send it and
// its destination may receive it. What decides is cyclonus' own matcher.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/mattfenwick/cyclonus/pkg/matcher"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

type peer struct {
	IP              string            `json:"ip"`
	Namespace       string            `json:"namespace"`
	NamespaceLabels map[string]string `json:"namespaceLabels"`
	Labels          map[string]string `json:"labels"`
}

type flow struct {
	Source      peer            `json:"source"`
	Destination peer            `json:"destination"`
	Port        int             `json:"port"`
	Protocol    corev1.Protocol `json:"protocol"`
}

type question struct {
	Policies []*networkingv1.NetworkPolicy `json:"policies"`
	Flows    []flow                        `json:"flows"`
}

type verdict struct {
	Egress  bool `json:"egress"`
	Ingress bool `json:"ingress"`
}

func main() {
	if err := answer(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cyclonus:", err)
		os.Exit(1)
	}
}

func answer(in io.Reader, out io.Writer) error {
	var asked question
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return err
	}
	policy := matcher.BuildNetworkPolicies(false, asked.Policies)
	verdicts := make([]verdict, 0, len(asked.Flows))
	for _, one := range asked.Flows {
		result := policy.IsTrafficAllowed(&matcher.Traffic{
			Source:       matched(one.Source),
			Destination:  matched(one.Destination),
			ResolvedPort: one.Port,
			Protocol:     one.Protocol,
		})
		verdicts = append(verdicts, verdict{Egress: result.Egress.IsAllowed(), Ingress: result.Ingress.IsAllowed()})
	}
	return json.NewEncoder(out).Encode(verdicts)
}

// matched gives a peer without a namespace as one outside of the cluster.
func matched(one peer) *matcher.TrafficPeer {
	if one.Namespace == "" {
		return &matcher.TrafficPeer{IP: one.IP}
	}
	internal := &matcher.InternalPeer{
		Namespace:       one.Namespace,
		NamespaceLabels: one.NamespaceLabels,
		PodLabels:       one.Labels,
	}
	return &matcher.TrafficPeer{IP: one.IP, Internal: internal}
}
