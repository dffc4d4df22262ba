// The same job for Kubernetes: an Indexed Job of a pod a node, and the Service by which pods find the first
// one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/job/job_script.h"

namespace larmor::app {

struct KubernetesRequest {
  JobRequest job;  // `folder` lies in the pods; empty: it is the first claim's
  std::string image, name_space;
  std::vector<std::string> claims;  // NAME=PATH: a PersistentVolumeClaim and where the pods have it
  int64_t gpus = 0, cpus = 0;       // of each pod; 0: none is asked for
  std::string memory;               // of each pod, as Kubernetes writes it ("64Gi"); empty: not said
  std::string shared_memory;        // of /dev/shm, likewise
  int64_t grace_seconds = 0;        // from TERM to KILL: a step and a checkpoint have to fit
};

/// YAML for `kubectl apply -f`. Throws Error (usage) for what is no name, path or amount of Kubernetes.
std::string kubernetes_manifest(const KubernetesRequest& request);

/// The run's name as Kubernetes takes names: lower case, at most 50 letters, beginning with "larmor-".
std::string kubernetes_name(const std::string& run);

}  // namespace larmor::app
