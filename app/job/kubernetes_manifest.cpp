#include "app/job/kubernetes_manifest.h"

#include <algorithm>
#include <array>
#include <regex>
#include <span>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"

namespace larmor::app {

namespace {

/// What another start would bring about again.
constexpr std::array hopeless{Exit::usage,    Exit::data,       Exit::memory,
                              Exit::numerics, Exit::checkpoint, Exit::no_progress};

std::string statuses(std::span<const Exit> exits) {
  std::vector<std::string> numbers;
  for (const auto exit : exits) numbers.push_back(text(static_cast<int>(exit)));
  return text("values: [", join(numbers, ", "), "]");
}

/// A scalar of YAML in double quotes, which are those of JSON.
std::string in_quotes(const std::string& word) { return Json(word).dump(); }

/// A word of `args`: Kubernetes puts the value of a variable in the place of $(NAME).
std::string argument(const std::string& word) {
  std::string kept;
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '$' && i + 1 < word.size() && word[i + 1] == '(') kept += '$';
    kept += word[i];
  }
  return in_quotes(kept);
}

void refuse_unless(const std::string& flag, const std::string& value, const char* form, const char* hint) {
  if (!std::regex_match(value, std::regex(form)))
    fail(Exit::usage, text(flag, " ", printable(value), " is not what Kubernetes takes there"), hint);
}

struct Claim {
  std::string name, path;
};

std::vector<Claim> claims_of(const KubernetesRequest& request) {
  if (request.claims.empty())
    fail(Exit::usage, "the pods have no folder that outlasts them",
         "--claim NAME=/PATH: a PersistentVolumeClaim that all pods can mount, and where");
  std::vector<Claim> claims;
  for (const auto& word : request.claims) {
    refuse_unless("--claim", word, R"([a-z0-9]([-a-z0-9.]*[a-z0-9])?=/[^:\x00-\x1f]*)",
                  "--claim NAME=/PATH: a PersistentVolumeClaim, and where the pods have it");
    const auto equals = word.find('=');
    claims.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return claims;
}

void refuse_unfit_request(const KubernetesRequest& request) {
  constexpr const char* amount = R"([0-9]+(\.[0-9]+)?(m|[kMGTPE]i?)?)";
  refuse_unless("--image", request.image, R"([A-Za-z0-9][A-Za-z0-9._/:@-]*)",
                "--image REGISTRY/NAME:TAG, an image with larmor in its PATH");
  if (!request.name_space.empty())
    refuse_unless("--namespace", request.name_space, "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?",
                  "give the namespace's own name");
  if (!request.memory.empty()) refuse_unless("--memory", request.memory, amount, "--memory 64Gi, say");
  refuse_unless("--shared-memory", request.shared_memory, amount, "--shared-memory 8Gi, say");
  if (!request.job.folder.empty())
    refuse_unless("--folder", request.job.folder, "/.*", "an absolute path in the pods, below a --claim");
  refuse_control_letters(request.job);
}

class Yaml {
 public:
  Yaml& line(int depth, const std::string& words) {
    text_ += std::string(static_cast<size_t>(2 * depth), ' ') + words + "\n";
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_metadata(Yaml& yaml, const KubernetesRequest& request, const std::string& name) {
  yaml.line(0, "metadata:").line(1, "name: " + name);
  if (!request.name_space.empty()) yaml.line(1, "namespace: " + request.name_space);
  yaml.line(1, "labels:").line(2, "app.kubernetes.io/name: larmor");
}

void add_service(Yaml& yaml, const KubernetesRequest& request, const std::string& name) {
  yaml.line(0, "# Pods find the first one by its name in this Service.")
      .line(0, "apiVersion: v1")
      .line(0, "kind: Service");
  add_metadata(yaml, request, name);
  yaml.line(0, "spec:")
      .line(1, "clusterIP: None")
      .line(1, "publishNotReadyAddresses: true")
      .line(1, "selector:")
      .line(2, "batch.kubernetes.io/job-name: " + name)
      .line(0, "---");
}

void add_failure_policy(Yaml& yaml) {
  yaml.line(1, "podFailurePolicy:")
      .line(2, "rules:")
      .line(2, "# A pod that the cluster has taken away, or that was stopped with a checkpoint, comes again.")
      .line(2, "- action: Ignore")
      .line(3, "onPodConditions:")
      .line(3, "- type: DisruptionTarget")
      .line(4, "status: \"True\"")
      .line(2, "- action: Ignore")
      .line(3, "onExitCodes:")
      .line(4, "operator: In")
      .line(4, statuses(std::array{Exit::stopped}))
      .line(2, "# What another start would bring about again ends the job.")
      .line(2, "- action: FailJob")
      .line(3, "onExitCodes:")
      .line(4, "operator: In")
      .line(4, statuses(hopeless));
}

void add_resources(Yaml& yaml, const KubernetesRequest& request) {
  std::vector<std::string> amounts;
  if (request.cpus > 0) amounts.push_back(text("cpu: \"", request.cpus, "\""));
  if (!request.memory.empty()) amounts.push_back("memory: " + in_quotes(request.memory));
  if (request.gpus > 0) amounts.push_back(text("nvidia.com/gpu: \"", request.gpus, "\""));
  if (amounts.empty()) return;
  yaml.line(4, "resources:");
  for (const char* const kind : {"requests:", "limits:"}) {
    yaml.line(5, kind);
    for (const auto& amount : amounts) yaml.line(6, amount);
  }
}

std::vector<std::string> arguments_of(const KubernetesRequest& request, const std::string& name) {
  const auto& job = request.job;
  std::vector<std::string> words{in_quotes("train")};
  for (const auto& word : job.train) words.push_back(argument(word));
  std::vector<std::string> place{"--max-restarts", text(job.max_restarts)};
  if (job.nodes > 1)
    place.insert(place.end(), {"--nnodes", text(job.nodes), "--master-addr", text(name, "-0.", name),
                               "--master-port", text(job.port)});
  for (const auto& word : place) words.push_back(in_quotes(word));
  if (job.nodes > 1) words.insert(words.end(), {in_quotes("--node-rank"), in_quotes("$(LARMOR_POD)")});
  return words;
}

void add_container(Yaml& yaml, const KubernetesRequest& request, const std::string& name,
                   const std::vector<Claim>& claims) {
  yaml.line(3, "containers:").line(3, "- name: larmor").line(4, "image: " + in_quotes(request.image));
  const auto& folder = request.job.folder.empty() ? claims.front().path : request.job.folder;
  yaml.line(4, "workingDir: " + in_quotes(folder))
      .line(4, text("command: [", in_quotes(request.job.program), "]"))
      .line(4, text("args: [", join(arguments_of(request, name), ", "), "]"));
  if (request.job.nodes > 1)
    yaml.line(4, "env:")
        .line(4, "- name: LARMOR_POD")
        .line(5, "valueFrom:")
        .line(6, "fieldRef:")
        .line(7, "fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']");
  add_resources(yaml, request);
  yaml.line(4, "volumeMounts:").line(4, "- name: shm").line(5, "mountPath: /dev/shm");
  for (size_t i = 0; i < claims.size(); ++i)
    yaml.line(4, text("- name: claim-", i)).line(5, "mountPath: " + in_quotes(claims[i].path));
  yaml.line(3, "volumes:")
      .line(3, "# Of 64 MiB where nothing is said, which is too little for ranks of one pod.")
      .line(3, "- name: shm")
      .line(4, "emptyDir:")
      .line(5, "medium: Memory")
      .line(5, "sizeLimit: " + in_quotes(request.shared_memory));
  for (size_t i = 0; i < claims.size(); ++i)
    yaml.line(3, text("- name: claim-", i))
        .line(4, "persistentVolumeClaim:")
        .line(5, "claimName: " + claims[i].name);
}

}  // namespace

std::string kubernetes_name(const std::string& run) {
  constexpr size_t longest = 50;  // a pod's name has a number behind it, and at most 63 letters
  std::string name = "larmor-";
  for (const char letter : lower(run)) {
    const bool fits = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    if (fits || name.back() != '-') name += fits ? letter : '-';
  }
  name.resize(std::min(name.size(), longest));
  name.erase(name.find_last_not_of('-') + 1);
  return name;
}

std::string kubernetes_manifest(const KubernetesRequest& request) {
  const auto claims = claims_of(request);
  refuse_unfit_request(request);
  const auto& job = request.job;
  const auto name = kubernetes_name(job.runs.back());
  Yaml yaml;
  yaml.line(0, text("# Trains ", job.runs.size() == 1 ? "the run " : "the runs ", join(job.runs, ", "),
                    " in ", job.nodes, job.nodes == 1 ? " pod" : " pods", ": kubectl apply -f FILE."))
      .line(0,
            "# A pod that gets TERM writes a checkpoint and ends with 75; the next one goes on there. To "
            "begin the job")
      .line(0, text("# again: kubectl delete job ", name,
                    ", and apply this file; the run goes on where it was."))
      .line(
          0,
          "# All pods need the same folder for the run, on a claim that they share (ReadWriteMany), and the")
      .line(
          0,
          "# config files that are named, below it. The key by which they know one another lies there, too.");
  if (job.nodes > 1) add_service(yaml, request, name);
  yaml.line(0, "apiVersion: batch/v1").line(0, "kind: Job");
  add_metadata(yaml, request, name);
  yaml.line(0, "spec:")
      .line(1, "completionMode: Indexed")
      .line(1, text("completions: ", job.nodes))
      .line(1, text("parallelism: ", job.nodes))
      .line(1, text("backoffLimit: ", job.nodes * (job.max_restarts + 1)));
  add_failure_policy(yaml);
  yaml.line(1, "template:").line(2, "metadata:").line(3, "labels:").line(4, "app.kubernetes.io/name: larmor");
  yaml.line(2, "spec:").line(3, "restartPolicy: Never");
  if (job.nodes > 1) yaml.line(3, "subdomain: " + name);
  yaml.line(3, text("terminationGracePeriodSeconds: ", request.grace_seconds));
  add_container(yaml, request, name, claims);
  return yaml.take();
}

}  // namespace larmor::app
