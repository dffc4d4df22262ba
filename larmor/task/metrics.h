// What validation gathers of a split: values a case, figures of all cases together, and pictures.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/image.h"
#include "larmor/data/caption.h"
#include "larmor/data/dataset.h"
#include "larmor/draw/panel.h"
#include "larmor/formats/affine.h"

namespace larmor {

/// The values, by name, (example, value) in the order of the examples.
using CaseValues = std::map<std::string, std::vector<std::pair<int64_t, double>>>;

/// A figure of the same patients drawn again and again, by which two figures of the same cases are compared.
struct BootstrapDraws {
  std::vector<int64_t> examples = {};  // whose values it is made of, in their order
  int64_t patients = 0;                // that they are of
  std::vector<double> values = {};     // one a draw; NaN where it is not defined for it
};

/// A number that a split has and its cases have not: a concordance, an area under a curve.
struct SplitMetric {
  double value = 0;                                        // NaN where it is not defined
  std::optional<std::pair<double, double>> interval = {};  // of 95 % confidence, over patients
  std::string no_interval = {};                            // why there is none where one was wanted
  /// The same at single places of an axis: "1y" of "horizon". NaN where one is not defined.
  std::string parts_by = {};
  std::vector<std::pair<std::string, double>> parts = {};
  std::string undefined = {};                               // why the value is NaN
  std::map<std::string, std::string> undefined_parts = {};  // why a part is; the value is without it
  BootstrapDraws draws = {};                                // at full depth; empty where there is no interval
};

/// A case of Stage::reference() once more, for a picture.
struct ReferenceCase {
  std::string name;
  Sample sample;
  std::optional<Affine> grid;
};

/// The figure, with the reason where its value is NaN.
SplitMetric with_reason(SplitMetric figure, const std::string& why_undefined);

/// How thorough a validation is: while a run trains, or when it is judged (`evaluate`).
enum class ValidationDepth { quick, full };

class Metrics {
 public:
  virtual ~Metrics() = default;
  /// One value of one case: metric "psnr" of `example`.
  virtual void value(const std::string& name, int64_t example, double value) = 0;
  /// A value of a case for Task::summarize() only; it is not reported.
  virtual void note(const std::string& name, int64_t example, double value) = 0;
  /// Takes the place of a mean over cases of the same name.
  virtual void figure(const std::string& name, const SplitMetric& figure) = 0;
  virtual void picture(const std::string& name, const Image& image) = 0;
  /// The example's place, from 0, among the few that pictures show: where they are wanted, those of rank 0
  /// that the dataset says (Dataset::shown()), while a run trains the first four of them; rank 0 has every
  /// case where it is the only one.
  virtual std::optional<int64_t> shown_as(int64_t example) const;
  bool shows(int64_t example) const { return shown_as(example).has_value(); }
  /// A case for the picture `name`, which has all that were shown so, in the order of the cases, and is drawn
  /// when the last one has been judged. `frame` is the panel without its cases; the first one's counts, and
  /// cases in another unit of length are left out.
  virtual void show(const std::string& /*name*/, const Panel& /*frame*/, PanelCase /*one*/) {}
  /// One more image of a case that was shown so, behind its others; nothing where none of that name was. For
  /// Task::summarize(), where all cases are known.
  virtual void show_beside(const std::string& /*name*/, const std::string& /*case_name*/,
                           PanelImage /*image*/) {}
  /// The case, for Task::summarize(), on the rank that draws; nothing where the case cannot be read any more.
  virtual std::optional<ReferenceCase> reference_case(int64_t /*example*/) const { return std::nullopt; }
  /// A sentence for the person who judges: what the figures stand for, or do not show.
  virtual void remark(const std::string& /*sentence*/) {}
  /// Whether pictures are wanted this time.
  virtual bool wants_pictures() const = 0;
  /// The depth: at full depth figures come with intervals, and stages that sample do so for every case.
  virtual ValidationDepth depth() const = 0;
  /// Whether the cases are Stage::reference()'s: of them only what note() is told counts.
  virtual bool of_reference() const { return false; }
  /// What the reference cases were found to be, which are looked at before any other: for Task::validate(),
  /// as summarize() is given it. Empty where there are none.
  virtual const CaseValues& reference() const;
  /// Takes how far a pass is that takes long (sampling, windows over a whole case), from 0 to 1; may be
  /// empty.
  virtual std::function<void(double)> progress() const { return {}; }
  /// Whether the device's memory holds a pass over `examples` times the voxels of a training example, as far
  /// as is known: false once it has run out in such a pass over this case. For a task that can go over a case
  /// in windows as well, and does where this is false.
  virtual bool fits_in_one_pass(double /*examples*/) const { return true; }
  /// Whose the example is (Dataset::patient()).
  virtual std::string patient(int64_t example) const;
  /// What the case is called (Caption::title, Dataset::name()), and where its voxels are (Dataset::grid()).
  virtual std::string case_name(int64_t example) const;
  virtual std::optional<Affine> grid(int64_t /*example*/) const { return std::nullopt; }
  /// Dataset::caption().
  virtual Caption caption(int64_t /*example*/) const { return {}; }
  /// work(0) … work(count - 1), each computed on one rank and known to all; NaN where it gives nothing. For
  /// Task::summarize(), on every rank alike. Collective.
  virtual std::vector<double> shared_out(int64_t count, const std::function<double(int64_t)>& work);
};

}  // namespace larmor
