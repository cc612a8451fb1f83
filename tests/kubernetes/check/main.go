// Command check judges Kubernetes manifests as a cluster does when they are created.
//
//	check FILE...
//
// Each document is decoded strictly, so an unknown, misspelt or repeated field is an error. A
// built-in object is then completed and validated by the API server's own code, whose warnings count, and its pods
// must keep to the pod security standard "restricted". Objects of the Prometheus Operator are only
// decoded. Prints every finding, and what was checked; exits with 1 if there are findings.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	internal "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	sigs "sigs.k8s.io/yaml"
)

const namespace = "default"

var strategies = map[string]rest.RESTCreateStrategy{
	"ConfigMap":           configmap.Strategy,
	"CronJob":             cronjob.Strategy,
	"Job":                 job.Strategy,
	"NetworkPolicy":       networkpolicy.Strategy,
	"Pod":                 pod.Strategy,
	"PodDisruptionBudget": poddisruptionbudget.Strategy,
	"Service":             service.Strategy,
	"ServiceAccount":      serviceaccount.Strategy,
	"StatefulSet":         statefulset.Strategy,
}

var operators = map[string]func() any{
	"PodMonitor":     func() any { return new(monitoring.PodMonitor) },
	"PrometheusRule": func() any { return new(monitoring.PrometheusRule) },
}

// podsOf returns the template of the pods that an object makes, or nil.
func podsOf(object runtime.Object) *core.PodTemplateSpec {
	switch object := object.(type) {
	case *apps.StatefulSet:
		return &object.Spec.Template
	case *batch.Job:
		return &object.Spec.Template
	case *batch.CronJob:
		return &object.Spec.JobTemplate.Spec.Template
	case *core.Pod:
		return &core.PodTemplateSpec{ObjectMeta: object.ObjectMeta, Spec: object.Spec}
	}
	return nil
}

func checkSecurity(evaluator policy.Evaluator, template *core.PodTemplateSpec) error {
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	result := policy.AggregateCheckResults(
		evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec))
	if result.Allowed {
		return nil
	}
	return errors.New("the pods are not restricted: " + result.ForbiddenDetail())
}

type checker struct {
	decoder   runtime.Decoder // yields objects of a version, as they are written
	evaluator policy.Evaluator
}

func newChecker() (*checker, error) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, err
	}
	codecs := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	return &checker{codecs.UniversalDeserializer(), evaluator}, nil
}

func (c *checker) check(document []byte, kind meta.TypeMeta) error {
	if kind.APIVersion == monitoring.SchemeGroupVersion.String() {
		newObject, ok := operators[kind.Kind]
		if !ok {
			return errors.New("no rule for this kind")
		}
		return sigs.UnmarshalStrict(document, newObject())
	}
	strategy, ok := strategies[kind.Kind]
	if !ok {
		return errors.New("no rule for this kind")
	}
	object, version, err := c.decoder.Decode(document, nil, nil)
	if err != nil {
		return err
	}
	if template := podsOf(object); template != nil {
		if err := checkSecurity(c.evaluator, template); err != nil {
			return err
		}
	}
	legacyscheme.Scheme.Default(object)
	hub, err := legacyscheme.Scheme.UnsafeConvertToVersion(object, runtime.InternalGroupVersioner)
	if err != nil {
		return err
	}
	if service, ok := hub.(*internal.Service); ok && service.Spec.ClusterIP != "" {
		// The API server's storage does this before it validates a service.
		service.Spec.ClusterIPs = []string{service.Spec.ClusterIP}
	}
	return create(strategy, hub, version.Group, version.Version)
}

// warnings are what the API server would print to a user; here, they are findings.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// create does with an object what the API server does before it stores a new one.
func create(strategy rest.RESTCreateStrategy, object runtime.Object, group, version string) error {
	accessor, err := apimeta.Accessor(object)
	if err != nil {
		return err
	}
	rest.FillObjectMetaSystemFields(accessor)
	var said warnings
	context := request.WithNamespace(request.NewContext(), namespace)
	context = request.WithRequestInfo(context, &request.RequestInfo{
		APIGroup: group, APIVersion: version})
	context = warning.WithWarningRecorder(context, &said)
	if err := rest.BeforeCreate(strategy, context, object); err != nil {
		return err
	}
	if len(said) > 0 {
		return errors.New(strings.Join(said, "; "))
	}
	return nil
}

func checkFile(c *checker, path string) (checked int, failed int) {
	text, err := os.ReadFile(path)
	if err != nil {
		fmt.Println(err)
		return 0, 1
	}
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if err == io.EOF {
			return checked, failed
		}
		var content any
		var named meta.PartialObjectMetadata
		if err == nil {
			err = errors.Join(sigs.Unmarshal(document, &content), sigs.Unmarshal(document, &named))
		}
		if err == nil && content == nil { // only comments
			continue
		}
		if err == nil {
			err = c.check(document, named.TypeMeta)
		}
		checked++
		if err != nil {
			failed++
			fmt.Printf("%s: %s %s: %v\n", path, named.Kind, named.Name, err)
		}
	}
}

func main() {
	c, err := newChecker()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	checked, failed := 0, 0
	for _, path := range os.Args[1:] {
		more, wrong := checkFile(c, path)
		checked += more
		failed += wrong
	}
	fmt.Printf("%d objects, %d findings\n", checked, failed)
	if failed > 0 || checked == 0 {
		os.Exit(1)
	}
}
