// Compares the engine's state with the model's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/engine_driver.h"
#include "tests/simulation/reference_model.h"
#include "tests/simulation/setting.h"

namespace fairlock::simulation {

// Each Compare function returns the first difference, or nothing. Reading a key settles it, so only
// keys that both sides have settled may be compared.
class Comparison {
 public:
  Comparison(const Setting& setting, EngineDriver& driver, const ReferenceModel& model)
      : setting_(setting), driver_(driver), model_(model) {}

  // Compares results and answers. For each key, the answers to LOCK are compared in order, and so
  // are the answers to WAIT.
  std::optional<std::string> CompareOutcomes(const Outcome& engine, const Outcome& model) const;
  static bool HasSameLosses(const Outcome& engine, const Outcome& model);
  // Compares everything that LOCKINFO, QUEUE and POSITION show for the key.
  std::optional<std::string> CompareKey(int key, TimeMs now);
  std::optional<std::string> CompareAllKeys(TimeMs now);
  // `is_model_behind` means that the model may not yet have ended everything that ends without an
  // answer.
  std::optional<std::string> CompareCounts(bool is_model_behind);
  // Compares what LOCKS shows for all keys; settles nothing.
  std::optional<std::string> CompareOverview(bool is_model_behind, TimeMs now);
  // What LOCKS shows for a key without settling it.
  struct Sight {
    bool exists = false;
    std::size_t holders = 0;
    std::size_t standing = 0;
  };
  std::vector<Sight> SeeAll(TimeMs now) const;

 private:
  bool IsSame(const engine::HolderInfo& info, const ModelHold& hold, TimeMs now) const;
  bool IsSame(const engine::PlaceInfo& info, const ModelPlace& place, TimeMs now) const;
  bool IsSame(const engine::LockSummary& summary, const ModelKey& key, TimeMs now) const;
  bool IsSameKey(const engine::LockInfo& info, const std::vector<engine::PlaceInfo>& places,
                 const ModelKey& model, TimeMs now) const;
  bool IsSameClient(const engine::ClientIdentity& identity, int connection) const;
  bool HasSameCounters(const engine::KeyCounters& counters, const ModelKey& key) const;
  bool HasSamePositions(int key, TimeMs now, engine::Effects& effects);
  std::string NarrateKey(int key, const engine::LockInfo& info,
                         const std::vector<engine::PlaceInfo>& places, TimeMs now) const;

  const Setting& setting_;
  EngineDriver& driver_;
  const ReferenceModel& model_;
};

}  // namespace fairlock::simulation
