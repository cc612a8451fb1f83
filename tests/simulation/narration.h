// Describes a run in words, for debugging a failure.
#pragma once

#include <string>

#include "server/engine/api/inspection.h"
#include "tests/simulation/call.h"
#include "tests/simulation/model_key.h"
#include "tests/simulation/setting.h"

namespace fairlock::simulation {

// For example, "at 1234: c3 LOCK k0 w2 PX 40 WAIT 100".
std::string Narrate(const Call& call, TimeMs now);

// Describes what is unusual about the seed.
std::string Narrate(const Setting& setting);

// Each describes one piece of the state of the engine or of the model.
std::string Narrate(const Setting& setting, const engine::HolderInfo& info);
std::string Narrate(const Setting& setting, const engine::PlaceInfo& info);
std::string Narrate(const engine::EngineCounts& counts);
std::string Narrate(const ModelHold& hold, TimeMs now);
std::string Narrate(const ModelPlace& place, TimeMs now);

}  // namespace fairlock::simulation
