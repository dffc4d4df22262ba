// `completion`: a script by which a shell completes verbs, flags, workloads, stages, configs, keys and runs.
// It holds all names that this program knows, so that a key that is pressed does not wait for the program to
// start.
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/base/version.h"
#include "larmor/config/load.h"
#include "larmor/services/service.h"

#include "app/program.h"

namespace larmor::app {

namespace {

// zsh runs the same functions through its own `bashcompinit`.
constexpr std::string_view for_zsh = R"sh(autoload -U +X compinit bashcompinit && compinit -u && bashcompinit
)sh";

// `word` is being typed. The verb is the first word, and the second where that is a family; `=` is a word of
// its own in bash, and in zsh a part of the word.
constexpr std::string_view functions = R"sh(_larmor_reply() { COMPREPLY=($(compgen -W "$1" -- "$2")); }
_larmor() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb= workload= one runs=
  COMPREPLY=()
  for one in "${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
    if [[ -z $verb ]]; then verb=$one
    elif _larmor_below "$verb" >/dev/null; then verb="$verb $one"; fi
    if _larmor_stages "$one" >/dev/null; then workload=$one; fi
  done
  if [[ -z $verb ]]; then _larmor_reply "$_larmor_verbs" "$word"; return; fi
  if _larmor_below "$verb" >/dev/null; then _larmor_reply "$(_larmor_below "$verb")" "$word"; return; fi
  if [[ $before == = || $word == = ]]; then
    one=$before
    if [[ $before == = ]]; then one=${COMP_WORDS[COMP_CWORD-2]}; else word=; fi
    _larmor_reply "$(_larmor_values "$one")" "$word"
    if [[ ${#COMPREPLY[@]} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$word")); fi
    return
  fi
  if [[ $word == ?*=* ]]; then
    one=${word%%=*}
    COMPREPLY=($(compgen -P "$one=" -W "$(_larmor_values "$one")" -- "${word#*=}"))
    return
  fi
  case $before in
    --stage) _larmor_reply "$(_larmor_stages "$workload")" "$word"; return ;;
    -c|--config) _larmor_reply "$(_larmor_configs "$workload")" "$word"
      COMPREPLY+=($(compgen -f -- "$word")); return ;;
    --device) _larmor_reply "auto cpu cuda" "$word"; return ;;
    --to) _larmor_reply "$_larmor_services" "$word"; return ;;
    --input|--output|--checkpoint|--resume|--folder) COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  if [[ $word == -* ]]; then _larmor_reply "$(_larmor_flags "$verb")" "$word"; return; fi
  case $(_larmor_takes "$verb") in
    *RUN*) for one in runs/*/config.yaml; do [[ -e $one ]] && runs+=" $(basename "$(dirname "$one")")"; done ;;
  esac
  if [[ -n $workload ]]; then
    _larmor_reply "$(_larmor_keys "$workload")" "$word"
    [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace 2>/dev/null
    return
  fi
  case $(_larmor_takes "$verb") in
    *WORKLOAD*) runs+=" $_larmor_workloads" ;;
  esac
  _larmor_reply "$runs" "$word"
  COMPREPLY+=($(compgen -f -- "$word"))
}
complete -F _larmor larmor
)sh";

/// A function of the shell that tells of a name what belongs to it, and fails for another name.
class Table {
 public:
  explicit Table(std::string name) : name_(std::move(name)) {}
  void add(const std::string& key, const std::string& words) {
    rows_ += text("    '", key, "') echo '", words, "' ;;\n");
  }
  std::string script() const {
    return text("_larmor_", name_, "() {\n  case $1 in\n", rows_, "    *) return 1 ;;\n  esac\n}\n");
  }

 private:
  std::string name_, rows_;
};

struct Tables {
  Table below{"below"}, flags{"flags"}, takes{"takes"}, stages{"stages"}, configs{"configs"}, keys{"keys"},
      values{"values"};
  std::string verbs, workloads, services;
};

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

void add_verbs(Tables& tables, const CLI::App& app, const std::string& before) {
  std::vector<std::string> names;
  for (const auto* verb : verbs_of(app)) {
    const auto words = before.empty() ? verb->get_name() : text(before, ' ', verb->get_name());
    names.push_back(verb->get_name());
    std::vector<std::string> flags;
    std::string takes;
    for (const auto* option : verb->get_options()) {
      for (const auto& flag : option->get_lnames()) flags.push_back("--" + flag);
      if (option->get_positional()) takes += option->get_type_name() + option->get_name(/*positional=*/true);
    }
    tables.flags.add(words, join(flags, " "));
    tables.takes.add(words, takes);
    add_verbs(tables, *verb, words);
  }
  if (before.empty())
    tables.verbs = join(names, " ");
  else if (!names.empty())
    tables.below.add(before, join(names, " "));
}

std::string joined(const std::set<std::string>& words) {
  return join(std::vector<std::string>(words.begin(), words.end()), " ");
}

/// Adds the names of the keys of a JSON Schema, and where a key is one of a few words, these.
void add_keys(const Json& schema, const std::string& before, std::set<std::string>& keys, Tables& tables,
              std::set<std::string>& valued) {
  for (const auto& [name, property] : schema.at("properties").items()) {
    const auto key = before.empty() ? name : text(before, '.', name);
    if (property.contains("properties")) {
      add_keys(property, key, keys, tables, valued);
      continue;
    }
    keys.insert(key + "=");
    std::vector<std::string> words;
    for (const auto& way : property.value("anyOf", Json::array({property}))) {
      auto named = way.value("enum", Json::array());
      if (way.contains("const")) named.push_back(way["const"]);
      for (const auto& word : named) {
        if (word.is_string()) words.push_back(word.get<std::string>());
      }
      if (way.value("type", Json()) == "boolean") words.insert(words.end(), {"true", "false"});
    }
    if (!words.empty() && valued.insert(key).second) tables.values.add(key, join(words, " "));
  }
}

void add_workloads(Tables& tables, const std::vector<Workload>& workloads) {
  std::vector<std::string> names;
  std::set<std::string> valued;
  for (const auto& workload : workloads) {
    names.push_back(workload.name());
    std::set<std::string> configs, keys;
    for (const auto& stage : workload.stages()) {
      for (const auto& config : shipped_configs(workload.name(), stage)) configs.insert(config);
      add_keys(config_schema(fields_of(workload, stage, *workload.stage(stage))), "", keys, tables, valued);
    }
    tables.stages.add(workload.name(), join(workload.stages(), " "));
    tables.configs.add(workload.name(), joined(configs));
    tables.keys.add(workload.name(), joined(keys));
  }
  tables.workloads = join(names, " ");
}

int complete(Program& program, const std::string& shell) {
  if (shell != "bash" && shell != "zsh")
    fail(Exit::usage, shell.empty() ? "no shell was named" : text("there is no completion for ", shell),
         "larmor completion bash, or zsh");
  Tables tables;
  add_verbs(tables, program.cli(), "");
  add_workloads(tables, program.workloads());
  for (const auto& service : services()) tables.services += service.name + " ";
  std::string script =
      text("# Completion of larmor ", version(), "; made by: larmor completion ", shell, "\n");
  if (shell == "zsh") script += for_zsh;
  script += text("_larmor_verbs='", tables.verbs, "'\n_larmor_workloads='", tables.workloads,
                 "'\n_larmor_services='", tables.services, "'\n");
  for (const auto* table : {&tables.below, &tables.flags, &tables.takes, &tables.stages, &tables.configs,
                            &tables.keys, &tables.values})
    script += table->script();
  script += functions;
  program.show({{"shell", shell}, {"script", script}}, Lines().add_text(script));
  return 0;
}

}  // namespace

void add_completion(Program& program) {
  const auto shell = std::make_shared<std::string>();
  auto& verb = program.add_verb("completion", "a script by which bash or zsh completes larmor's words",
                                [&program, shell] { return complete(program, *shell); });
  verb.add_option("SHELL", *shell, "bash or zsh");
}

}  // namespace larmor::app
