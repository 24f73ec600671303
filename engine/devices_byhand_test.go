package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// withDevices gives a random cluster devices, and pods claims of them.
func withDevices(rng *rand.Rand, stated *api.Cluster, pods []api.Pod) {
	enginetest.RandomDevices(rng, stated, pods)
	enginetest.RandomHolders(rng, stated)
}

// leave changes the claims of a pod that is deleted (pkg/controller/resourceclaim/controller.go syncClaim, v1.37): its own are
// deleted, others lose their reservation, and with the last one their devices.
func leave(c *api.Cluster, namespace, pod string) {
	var left []api.ResourceClaim
	for _, claim := range c.Devices.Claims {
		if claim.Namespace == namespace && pod != "" {
			if claim.ControllerPod == pod {
				continue
			}
			if at := slices.Index(claim.ReservedFor, pod); at >= 0 {
				claim.ReservedFor = slices.Delete(slices.Clone(claim.ReservedFor), at, at+1)
				if len(claim.ReservedFor) == 0 {
					claim.Allocation, claim.BindingFailed = nil, false
				}
			}
		}
		left = append(left, claim)
	}
	c.Devices.Claims = left
}

// withoutNode changes the slices and claims of a node that is deleted with its pods.
func withoutNode(c *api.Cluster, n *api.Node) {
	for i := range n.Pods {
		leave(c, n.Pods[i].Template.Namespace, n.Pods[i].Name)
	}
	c.Devices.Slices = slices.DeleteFunc(slices.Clone(c.Devices.Slices), func(s api.ResourceSlice) bool { return s.NodeName == n.Name })
}

// claim changes the claims of a pod that was placed. A claim that was created belongs to it, other claims are reserved.
func claim(c *api.Cluster, pod *api.Pod, devices []verdict.PodDevices) {
	c.Devices.Claims = slices.Clone(c.Devices.Claims)
	for i := range devices {
		d := &devices[i]
		created := fmt.Sprint("given-to-", pod.Name, "-", i)
		allocateClaim(c, d, created)
		for j := range c.Devices.Claims {
			if of := &c.Devices.Claims[j]; of.Namespace == d.Namespace && of.Name == created {
				of.ControllerPod = pod.Name
			}
		}
	}
	for i := range pod.Template.Spec.ResourceClaims {
		for j := range c.Devices.Claims {
			of := &c.Devices.Claims[j]
			if of.Namespace != pod.Template.Namespace || of.Name != pod.Template.Spec.ResourceClaims[i].ResourceClaimName ||
				of.Allocation == nil || slices.Contains(of.ReservedFor, pod.Name) {
				continue
			}
			of.ReservedFor = append(slices.Clip(of.ReservedFor), pod.Name)
		}
	}
}

// withNode adds the slices of a new node like another one: of the pools that are the other node's alone.
func withNode(c *api.Cluster, like, name string) {
	c.Devices.Slices = slices.Clone(c.Devices.Slices)
	for _, s := range c.Devices.Slices {
		if s.NodeName != like || slices.ContainsFunc(c.Devices.Slices, func(o api.ResourceSlice) bool {
			return o.Driver == s.Driver && o.Pool == s.Pool && o.NodeName != like
		}) {
			continue
		}
		if s.Name, s.NodeName = name+"/"+s.Name, name; s.Pool == like {
			s.Pool = name
		} else {
			s.Pool = name + "/" + s.Pool
		}
		c.Devices.Slices = append(c.Devices.Slices, s)
	}
}
