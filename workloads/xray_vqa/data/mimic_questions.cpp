#include "workloads/xray_vqa/data/mimic_questions.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"

#include "workloads/xray_vqa/data/document_store.h"
#include "workloads/xray_vqa/data/qa_documents.h"
#include "workloads/xray_vqa/data/question_tables.h"

namespace larmor::xray_vqa {
namespace {

constexpr const char* format_version = "xray_vqa questions 2";
const char* const layout = "data.questions is the folder that holds qa.zip (or qa/) and metadata/";

// What is left out of the table, and what is mended in it.
struct Counts {
  int64_t kept = 0, below_grade = 0, undecoded_grade = 0, unknown_type = 0, without_head = 0, empty_text = 0,
          without_label = 0, without_degree = 0, without_class = 0, without_image = 0, boxes_outside = 0;
  std::vector<int64_t> by_type = std::vector<int64_t>(question_types().size());

  template <class Visit>
  static void each(const Visit& visit) {
    visit("kept", &Counts::kept);
    visit("below the grade", &Counts::below_grade);
    visit("grade not decoded", &Counts::undecoded_grade);
    visit("unknown type", &Counts::unknown_type);
    visit("type without a head", &Counts::without_head);
    visit("empty text", &Counts::empty_text);
    visit("finding that is none of CheXpert's labels", &Counts::without_label);
    visit("severity that no word tells", &Counts::without_degree);
    visit("no class fits the answer", &Counts::without_class);
    visit("study without an image", &Counts::without_image);
    visit("boxes outside the image", &Counts::boxes_outside);
  }
  Json to_json() const {
    Json json = Json::object();
    each([&](const char* name, auto member) { json[name] = this->*member; });
    json["types"] = by_type;
    return json;
  }
  void add(const Json& noted) {
    each([&](const char* name, auto member) { this->*member += noted.at(name).template get<int64_t>(); });
    const auto types = noted.at("types").get<std::vector<int64_t>>();
    for (std::size_t i = 0; i < by_type.size() && i < types.size(); ++i) by_type[i] += types[i];
  }
};

// Words of a question in a form that the table can keep while the document goes.
class Builder {
 public:
  Builder(Storage& storage, const MimicQuestions& from, const ShowsProgress& shows)
      : from_(from),
        shows_(shows),
        studies_(read_mimic_studies(from.images, from.views, from.uncertain)),
        lists_(read_vocabularies(from.documents / "metadata" / "dataset_info.json")),
        questions_(open_questions()),
        scenes_(open_scenes()),
        build_(storage, from.tables) {
    const auto mapping = from_.documents / "quality_mappings.csv";
    if (std::filesystem::exists(mapping)) grades_ = GradeCodes(mapping);
    options_ = text(format_version, ' ', name_of(from_.worst), ' ', from_.all_grades, ' ',
                    int{from_.uncertain == Uncertain::ignore}, static_cast<int>(from_.uncertain), ' ',
                    static_cast<int>(from_.views), ' ',
                    std::filesystem::exists(mapping) ? sha256_of_file(mapping) : "", ' ',
                    sha256_of_file(from_.documents / "metadata" / "dataset_info.json"));
  }

  BuiltQuestions run() {
    const auto& documents = questions_->documents();
    const auto all = static_cast<int64_t>(documents.size());
    progress_.all = all;
    std::vector<std::string> parts;
    for (int64_t first = 0; first < all; first += from_.part_studies) {
      const int64_t end = std::min(first + from_.part_studies, all);
      parts.push_back(text("part-", parts.size()));
      take_part(parts.back(), static_cast<std::size_t>(first), static_cast<std::size_t>(end));
      progress_.done = end;
      progress_.rows = counts_.kept;
      show();
    }
    refuse_too_many_bad(all);
    BuiltQuestions built{.tables = build_.finish(parts),
                         .by_type = counts_.by_type,
                         .left_out = counts_.to_json(),
                         .bad = bad_,
                         .json_bytes = json_bytes_,
                         .sentence = {}};
    built.left_out.erase("types");
    built.left_out.erase("kept");
    built.sentence = text(studies_.sentence, "; ", routing_report(counts_.by_type), left_out_words());
    if (counts_.kept == 0) {
      fail(Exit::data, text("no question is left: ", built.sentence),
           "check data.quality_grade, data.view_filter and the columns of quality_mappings.csv");
    }
    return built;
  }

 private:
  std::unique_ptr<DocumentStore> open_questions() const {
    auto store = DocumentStore::open(from_.documents / "qa", ".qa.json");
    if (!store || store->documents().empty())
      fail(Exit::data, text(from_.documents.string(), " holds no documents of questions (*.qa.json)"),
           layout);
    return store;
  }

  std::unique_ptr<DocumentStore> open_scenes() const {
    for (const char* const name : {"scene_data", "scene_graphs", "scene_graph"}) {
      if (auto store = DocumentStore::open(from_.documents / name, ".scene_graph.json")) return store;
    }
    log::warning(
        text(from_.documents.string(), " holds no scene graphs: every study has one object, its image"));
    return nullptr;
  }

  int64_t scene_of(std::string_view study) const { return scenes_ ? scenes_->find_study(study) : -1; }

  // Of all that the part's rows are a function of.
  std::string stamp_of(std::size_t first, std::size_t end) const {
    Sha256 hash;
    hash.update(options_);
    for (std::size_t i = first; i < end; ++i) {
      const auto& document = questions_->documents()[i];
      const auto id = study_of_document(document.name);
      hash.update(text(document.name, ' ', document.stamp, '\n'));
      if (const int64_t scene = scene_of(id); scene >= 0)
        hash.update(scenes_->documents()[static_cast<std::size_t>(scene)].stamp);
      const Study* const study = studies_.find(id);
      if (study == nullptr) continue;
      hash.update(text('\n', study->image, ' ', study->width, ' ', study->height, ' ',
                       study->split ? to_text(*study->split) : ""));
      for (const Label& label : study->labels) hash.update(text(' ', label.counts, double{label.value}));
    }
    return hash.hex();
  }

  void take_part(const std::string& name, std::size_t first, std::size_t end) {
    const std::string stamp = stamp_of(first, end);
    if (const Json noted = build_.noted(name, stamp); !noted.is_null()) {
      counts_.add(noted.at("counts"));
      const auto bad = bad_files_from(noted.at("bad"));
      bad_.insert(bad_.end(), bad.begin(), bad.end());
      progress_.found_done += static_cast<int64_t>(end - first);
      return;
    }
    Counts whole;
    std::swap(whole, counts_);
    const std::size_t bad_before = bad_.size();
    QuestionTablesBuild::Part part(build_, name, stamp);
    for (std::size_t i = first; i < end; ++i) {
      take_document(i, part);
      progress_.rows = whole.kept + counts_.kept;
      ++progress_.done;
      show();
    }
    const std::vector<BadFile> bad(bad_.begin() + static_cast<std::ptrdiff_t>(bad_before), bad_.end());
    part.finish({{"counts", counts_.to_json()}, {"bad", to_json(bad)}});
    std::swap(whole, counts_);
    counts_.add(whole.to_json());
  }

  void take_document(std::size_t place, QuestionTablesBuild::Part& part) {
    const auto& document = questions_->documents()[place];
    const Study* const study = studies_.find(study_of_document(document.name));
    std::vector<KeptQuestion> kept;
    words_.clear();
    const bool whole = guarded(*questions_, document.name, [&] {
      const auto bytes = questions_->read(place, buffer_, QaReader::padding());
      json_bytes_ += bytes.size();
      reader_.read_questions(bytes, [&](const QaQuestion& question) { take(question, study, kept); });
    });
    if (!whole || kept.empty()) return;
    std::vector<SceneObject> objects;
    if (const int64_t scene = scene_of(study->id); scene >= 0)
      read_scene(static_cast<std::size_t>(scene), *study, objects);
    std::size_t begin = 0;
    for (KeptQuestion& question : kept) {
      question.question =
          std::string_view(words_).substr(begin, lengths_[static_cast<std::size_t>(&question - kept.data())]);
      begin += question.question.size();
      part.add_question(question);
      ++counts_.kept;
      ++counts_.by_type[static_cast<std::size_t>(question.type)];
    }
    part.end_study(*study, objects);
  }

  // A question that is taken, or the reason why it is not, counted.
  void take(const QaQuestion& question, const Study* study, std::vector<KeptQuestion>& kept) {
    if (study == nullptr) return count(counts_.without_image);
    Grade grade = Grade::unrated;
    if (!from_.all_grades) {
      const auto known = grades_.find(question.quality);
      if (!known) return count(counts_.undecoded_grade);
      if (*known > from_.worst) return count(counts_.below_grade);
      grade = *known;
    }
    const int64_t type = find_type(question.type);
    if (type == unknown_question_type()) return count(counts_.unknown_type);
    const QuestionType& known_type = question_types()[static_cast<std::size_t>(type)];
    if (known_type.head == Head::none) return count(counts_.without_head);
    const auto words = trim(question.question);
    if (words.empty()) return count(counts_.empty_text);
    const int64_t answer = question.has_answer ? answer_class(known_type, question.answer, lists_) : -1;
    if (answer < 0) return count(reason_of(known_type.head, question));
    if (kept.empty()) lengths_.clear();
    words_ += words;
    lengths_.push_back(words.size());
    kept.push_back({.type = type, .answer = answer, .grade = grade, .question = {}});
  }

  // Of an answer to which no class belongs.
  int64_t& reason_of(Head head, const QaQuestion& question) {
    if (head == Head::category && !question.answer.entity.empty()) return counts_.without_label;
    return head == Head::severity ? counts_.without_degree : counts_.without_class;
  }

  void show() {
    progress_.bytes = json_bytes_;
    shows_(progress_);
  }

  static void count(int64_t& reason) { ++reason; }

  int64_t find_type(std::string_view name) {
    const auto known = types_.find(name);
    if (known != types_.end()) return known->second;
    constexpr std::size_t most_types = 10'000;
    const int64_t type = find_question_type(name);
    if (types_.size() < most_types) types_.emplace(name, type);
    return type;
  }

  void read_scene(std::size_t place, const Study& study, std::vector<SceneObject>& objects) {
    guarded(*scenes_, scenes_->documents()[place].name, [&] {
      const auto bytes = scenes_->read(place, buffer_, QaReader::padding());
      json_bytes_ += bytes.size();
      auto scene = reader_.read_scene(bytes, {study.image_id, study.width, study.height}, lists_);
      counts_.boxes_outside += scene.boxes_outside;
      objects = std::move(scene.objects);
    });
  }

  // Whether the work went to its end; a damaged document is listed.
  template <class Work>
  bool guarded(const DocumentStore& store, const std::string& name, const Work& work) {
    try {
      work();
      return true;
    } catch (const Error& error) {
      if (error.exit() != Exit::data) throw;
      const auto path = store.path().filename() / name;
      bad_.push_back({path.string(), reason_behind((store.path() / name).string(), error.message())});
      return false;
    }
  }

  void refuse_too_many_bad(int64_t documents) const {
    const auto count = static_cast<int64_t>(bad_.size());
    const auto budget = bad_file_budget(from_.bad_files, documents);
    if (!are_too_many(count, budget, documents)) return;
    fail(Exit::data,
         text(count, count == 1 ? " document" : " documents", " of ", from_.documents.string(),
              " cannot be read:", listing(bad_, bad_.size())),
         text("fetch them again; data.bad_files allows ", budget, ", and no more than half of all"));
  }

  std::string left_out_words() const {
    std::string words;
    Counts::each([&](const char* name, auto member) {
      if (member != &Counts::kept && counts_.*member > 0) words += text("; ", name, ": ", counts_.*member);
    });
    if (!bad_.empty()) words += text("; damaged documents: ", bad_.size());
    return words;
  }

  const MimicQuestions& from_;
  const ShowsProgress& shows_;
  WorkProgress progress_{.what = "tables of questions:", .unit = "documents"};
  const StudyList studies_;
  const Vocabularies lists_;
  const std::unique_ptr<DocumentStore> questions_, scenes_;
  QuestionTablesBuild build_;
  GradeCodes grades_;
  std::string options_;
  QaReader reader_;
  std::string buffer_, words_;        // of the document at hand; of its questions that are kept
  std::vector<std::size_t> lengths_;  // of those words
  std::map<std::string, int64_t, std::less<>> types_;
  Counts counts_;
  std::vector<BadFile> bad_;
  uint64_t json_bytes_ = 0;
};

std::vector<std::string> names_in(const Json& list) {
  std::vector<std::string> names;
  for (const auto& [key, value] : list.items()) {
    if (list.is_object()) {
      names.push_back(key);
    } else if (value.is_string()) {
      names.push_back(value.get<std::string>());
    } else if (value.is_object() && value.contains("name") && value.at("name").is_string()) {
      names.push_back(value.at("name").get<std::string>());
    }
  }
  return names;
}

}  // namespace

Vocabularies read_vocabularies(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file))
    fail(Exit::data, text("there is no ", file.string(), ", which lists regions and entities"), layout);
  const Json info = read_json(file);
  const auto list_of = [&](std::initializer_list<const char*> keys, int64_t most) {
    for (const char* const key : keys) {
      if (!info.is_object() || !info.contains(key)) continue;
      auto names = names_in(info.at(key));
      if (static_cast<int64_t>(names.size()) >= most) {
        fail(Exit::data,
             text(file.string(), ": ", key, " has ", names.size(), " names, and the network ", most - 1),
             "give the file of MIMIC-Ext-CXR-QBA 1.0");
      }
      if (!names.empty()) return NameList(std::move(names));
    }
    fail(Exit::data, text(file.string(), " has no list ", *keys.begin()),
         "give the file of the data set's release");
  };
  return {list_of({"regions", "region_names"}, region_ids),
          list_of({"finding_entities", "entity_names"}, entity_ids)};
}

BuiltQuestions build_mimic_questions(Storage& storage, const MimicQuestions& from,
                                     const ShowsProgress& shows) {
  return Builder(storage, from, shows).run();
}

}  // namespace larmor::xray_vqa
