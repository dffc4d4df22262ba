// An invented cohort whose hazard is known: each body has one lesion, whose size and brightness alone decide
// the risk. What the best possible model would reach is therefore known, too.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "larmor/data/index/case_list.h"
#include "larmor/formats/volume.h"

namespace larmor::survival {

struct CohortPatient {
  double time = 0;         // days, whole: of the event, or of the last visit
  double event = 0;        // 1 where the event happened, 0 where the patient was censored
  double log_risk = 0;     // the truth: hazard = baseline(t) * exp(log_risk)
  double diameter_mm = 0;  // of the lesion, 16 to 40
  double density_hu = 0;   // of the lesion, 140 to 480; soft tissue has about 40
  double follow_up = 0;  // days until the study ends for this patient; what it is depends on no other number
  std::array<double, 3> lesion_mm{};  // its middle, in the world of the volume
};

/// Patient `number` of the cohort with `seed`. log_risk is 1.4 standardised diameters and 1.1 standardised
/// densities, both uniform and independent, so its deviation is 1.78. Nobody has the event within 34 days;
/// from then on the hazard is Weibull's with shape 1.5. Patients enter evenly over 1770 days, and the study
/// ends at day 2500: 63 % of the events are seen, and Harrell's index of the truth is about 0.83.
CohortPatient cohort_patient(uint64_t seed, int64_t number);

/// The patient's body as CT would show it, in HU: fat, ribs, a spine, organs, noise, and the lesion at a
/// random place clear of bone. The field of view is 160 mm along each axis whatever the size; axes point
/// Right, Anterior, Superior. Same bits on every machine whose compiler does not fuse products into sums.
/// Requires: three sizes above 0.
Volume make_cohort_volume(uint64_t seed, int64_t number,
                          const std::vector<int64_t>& size);  // [1, X, Y, Z]

/// The affine of such a body.
Affine cohort_affine(const std::vector<int64_t>& size);

/// Patients 0 to cases - 1 as a list has them: values `time`, `event` and `truth` (the log-risk), patient
/// "cohort-0007", and as "image" a name that no file has. In the order of their numbers, which is that of
/// their names, too.
std::vector<ListedCase> cohort_cases(uint64_t seed, int64_t cases, const std::vector<int64_t>& size);

/// The number of the patient whose name or image name begins "cohort-0007". An index may leave patients out,
/// so that a case's place in it is not this number. Throws Error (data) for any other name.
int64_t cohort_number(std::string_view name);

}  // namespace larmor::survival
