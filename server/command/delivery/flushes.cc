#include "server/command/delivery/flushes.h"

#include <limits>

namespace fairlock::command {

namespace {

// Ending a lock and handing it to its next waiter takes up to 50 us.
constexpr std::size_t kKeysPerStep = 200;

}  // namespace

bool Flushes::IsLong(std::optional<std::uint8_t> db) const {
  const engine::LockEngine& engine = locks_.engine();
  const values::ValueStore& store = values_.store();
  const std::uint64_t keys =
      db ? engine.CountLocks(*db) + store.Count(*db) : engine.counts().locks + store.size();
  return keys > kKeysAtOnce;
}

void Flushes::FlushAtOnce(Client& client, std::optional<std::uint8_t> db, engine::TimeMs now) {
  Flush flush{&client, db};
  delivery_.BeginStep(now);
  while (!TakeStep(flush, std::numeric_limits<std::size_t>::max(), now)) {
  }
  delivery_.EndStep(now);
}

void Flushes::Begin(Client& client, std::optional<std::uint8_t> db) {
  client.wait.Begin(WaitKind::kFlush, statistics_.gauges);
  flushes_.push_back({&client, db});
}

bool Flushes::Advance(engine::TimeMs now) {
  if (flushes_.empty()) return false;
  Flush& flush = flushes_.front();
  delivery_.BeginStep(now);
  const bool has_ended = TakeStep(flush, kKeysPerStep, now);
  delivery_.EndStep(now);
  if (has_ended) {
    Client& client = *flush.client;
    flushes_.pop_front();
    client.wait.End(statistics_.gauges);
    client.writer().Ok();
    client.output.NoteFlags(kWrite);
    client.transport.NoticeOutput();
  }
  return !flushes_.empty();
}

bool Flushes::TakeStep(Flush& flush, std::size_t keys_max, engine::TimeMs now) {
  if (flush.is_at_values) {
    flush.cursor = values_.store().Clear(flush.cursor, keys_max, flush.db);
  } else {
    flush.cursor = locks_.engine().redis().Flush(flush.cursor, keys_max, flush.db, *flush.client,
                                                 locks_.StepAt(now));
  }
  if (flush.cursor != 0) return false;
  const bool was_at_values = flush.is_at_values;
  flush.is_at_values = true;
  return was_at_values;
}

void Flushes::Detach(const Client& client) {
  std::erase_if(flushes_, [&](const Flush& flush) { return flush.client == &client; });
}

}  // namespace fairlock::command
