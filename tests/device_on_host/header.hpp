// What the tests of a device that is the host have in common, precompiled: no test includes it.
#pragma once

#include "catch.hpp"
#include "napkin/cuda.hpp"
#include "napkin/train/cuda_trainer.hpp"
#include "support/host_device.hpp"
#include "support/run_teams.hpp"
