#include "bench/engine_workload.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <random>

namespace fairlock::bench {

namespace {

constexpr engine::DurationMs kWaitMs = 3'600'000;
constexpr std::size_t kRequestsPerMs = 1000;

}  // namespace

template <std::size_t kBytes>
NameList<kBytes>::NameList(std::string_view prefix, std::size_t count) : names_(count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::array<char, kBytes>& name = names_[i];
    std::memcpy(name.data(), prefix.data(), prefix.size());
    std::size_t rest = i;
    for (std::size_t at = kBytes; at > prefix.size(); rest /= 10) {
      name[--at] = static_cast<char>('0' + rest % 10);
    }
  }
  std::shuffle(names_.begin(), names_.end(), std::mt19937_64(count));
}

template class NameList<kKeyBytes>;
template class NameList<kOwnerBytes>;

EngineWorkload::EngineWorkload(std::size_t keys, engine::DurationMs lease_ms)
    : lease_ms_(lease_ms),
      keys_("lock:", keys),
      owners_("worker:", 1),
      engine_({.hash_seed = 4711}) {
  connection_ = std::make_unique<engine::Attachment>(engine_.clients().Connect("bench", "default"));
}

EngineWorkload::~EngineWorkload() { engine_.sessions().Detach(*connection_, {now_, effects_}); }

void EngineWorkload::Record() {
  recorder_ = std::make_unique<record::Recorder>(record::RecorderOptions{}, now_);
  engine_.set_event_sink(recorder_.get());
}

void EngineWorkload::AddOwners(std::size_t count) {
  if (count > owners_.size()) owners_ = NameList<kOwnerBytes>("worker:", count);
}

engine::LockRequest EngineWorkload::Request(std::size_t key, std::size_t owner) const {
  engine::LockRequest request;
  request.key = {0, keys_[key]};
  request.owner = owners_[owner];
  request.lease_ms = lease_ms_;
  return request;
}

void EngineWorkload::Tick() {
  effects_.resolutions.clear();
  if (++requests_ % kRequestsPerMs != 0) return;
  ++now_;
  while (engine_.Advance(kRequestsPerMs, {now_, effects_})) {
  }
}

void EngineWorkload::Lock(std::size_t key, std::size_t owner) {
  const auto result = engine_.Lock(Request(key, owner), *connection_, {now_, effects_});
  assert(result.status == engine::LockStatus::kGranted);
  Tick();
}

void EngineWorkload::Unlock(std::size_t key, std::size_t owner) {
  const bool was_held = engine_.Unlock({{0, keys_[key]}, owners_[owner], {}}, {now_, effects_});
  assert(was_held);
  Tick();
}

void EngineWorkload::Renew(std::size_t key) {
  const bool is_renewed =
      engine_.Renew({{0, keys_[key]}, owners_[0], lease_ms_, {}}, {now_, effects_});
  assert(is_renewed);
  Tick();
}

void EngineWorkload::LockDenied(std::size_t key) {
  const auto result = engine_.Lock(Request(key, 1), *connection_, {now_, effects_});
  assert(result.status == engine::LockStatus::kDenied);
  Tick();
}

void EngineWorkload::LockWithLimit(std::size_t key, std::size_t owner, std::uint32_t limit) {
  engine::LockRequest request = Request(key, owner);
  request.limit = limit;
  const auto result = engine_.Lock(request, *connection_, {now_, effects_});
  assert(result.status == engine::LockStatus::kGranted);
  Tick();
}

void EngineWorkload::Join(std::size_t key, std::size_t owner) {
  engine::LockRequest request = Request(key, owner);
  request.wait_ms = kWaitMs;
  const auto result = engine_.Lock(request, *connection_, {now_, effects_});
  assert(result.status == engine::LockStatus::kQueued);
  Tick();
}

void EngineWorkload::Cancel(std::size_t key, std::size_t owner) {
  const bool had_place = engine_.Cancel({0, keys_[key]}, owners_[owner], {now_, effects_});
  assert(had_place);
  Tick();
}

void EngineWorkload::HandOver(std::size_t key, std::size_t holder) {
  const bool was_held = engine_.Unlock({{0, keys_[key]}, owners_[holder], {}}, {now_, effects_});
  assert(was_held);
  assert(effects_.resolutions.size() == 1);
  assert(effects_.resolutions.front().kind == engine::ResolutionKind::kGranted);
  Tick();
}

void EngineWorkload::LockAllAtOnce() {
  for (std::size_t key = 0; key < keys_.size(); ++key) {
    engine_.Lock(Request(key, 0), *connection_, {now_, effects_});
  }
}

bool EngineWorkload::Advance(std::size_t steps_max) {
  const bool is_more_due = engine_.Advance(steps_max, {now_, effects_});
  effects_.resolutions.clear();
  return is_more_due;
}

}  // namespace fairlock::bench
