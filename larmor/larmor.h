// Everything that a program outside this tree may want, in one include.
#pragma once

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/process.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/comm/communicator.h"
#include "larmor/config/load.h"
#include "larmor/data/index/index.h"
#include "larmor/data/loader/loader.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/formats/volume.h"
#include "larmor/hardware/hardware.h"
#include "larmor/launch/launcher.h"
#include "larmor/launch/rank.h"
#include "larmor/optim/optimizer.h"
#include "larmor/parallel/parallelism.h"
#include "larmor/plan/plan.h"
