package expander

import (
	"errors"
	"fmt"
	"math"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/bounded"
)

// Prices is the price of a node by its group or its labels, in any unit. The zero value has no prices.
type Prices struct {
	rules []priceRule
}

type priceRule struct {
	group  *regexp.Regexp
	labels map[string]string
	price  float64
}

// priceFile is the file of Prices.
type priceFile struct {
	Prices []struct {
		// NodeGroup is a regular expression that matches a part of the id of the group.
		NodeGroup string `json:"nodeGroup"`
		// NodeLabels are labels that the node has.
		NodeLabels map[string]string `json:"nodeLabels"`
		Price      *float64          `json:"price"`
	} `json:"prices"`
}

// ReadPrices reads a file in YAML or JSON.
func ReadPrices(path string) (*Prices, error) {
	text, err := bounded.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := ParsePrices(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// ParsePrices reads prices in YAML or JSON, and reports all problems.
func ParsePrices(text []byte) (*Prices, error) {
	var file priceFile
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, err
	}
	out := &Prices{}
	var errs []error
	for i, rule := range file.Prices {
		at := fmt.Sprintf("prices[%d]", i)
		to := priceRule{labels: rule.NodeLabels}
		if rule.NodeGroup == "" && len(rule.NodeLabels) == 0 {
			errs = append(errs, fmt.Errorf("%s: needs nodeGroup or nodeLabels", at))
		}
		var err error
		if to.group, err = regexp.Compile(rule.NodeGroup); err != nil {
			errs = append(errs, fmt.Errorf("%s.nodeGroup: %w", at, err))
		}
		switch {
		case rule.Price == nil:
			errs = append(errs, fmt.Errorf("%s.price: is required", at))
		case !(*rule.Price >= 0) || math.IsInf(*rule.Price, 0):
			errs = append(errs, fmt.Errorf("%s.price: must not be negative, is %v", at, *rule.Price))
		default:
			to.price = *rule.Price
		}
		out.rules = append(out.rules, to)
	}
	if len(file.Prices) == 0 {
		errs = append(errs, errors.New("prices: is empty"))
	}
	return out, errors.Join(errs...)
}

// find returns the price of a node of a group by the first matching rule, and whether there is one.
func (p *Prices) find(group string, n *corev1.Node) (price float64, ok bool) {
	if p == nil {
		return 0, false
	}
	for _, r := range p.rules {
		if r.group.MatchString(group) && has(n.Labels, r.labels) {
			return r.price, true
		}
	}
	return 0, false
}

func has(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}
