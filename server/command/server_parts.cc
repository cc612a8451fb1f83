#include "server/command/server_parts.h"

#include <algorithm>
#include <utility>

namespace fairlock::command {

ServerParts::ServerParts(CommandTable the_table, const engine::EngineOptions& engine_options,
                         Environment the_environment, engine::TimeMs now,
                         const record::RecorderOptions& recorder_options)
    : environment(std::move(the_environment)),
      started_at(now),
      table(std::move(the_table)),
      locks(engine_options),
      recorder(recorder_options, now),
      unix_time(environment.clock),
      statistics(environment.clock, table.rows().size()),
      availability(locks.engine(), environment.resources, environment.log),
      routing(environment, availability),
      work(locks.engine()),
      clients(locks.engine(), statistics.counters),
      channels(engine_options.hash_seed, work),
      messages(channels),
      event_publisher(locks, channels, messages, environment.clock),
      notifier(locks, channels, messages, environment.clock),
      watched_keys(locks),
      transactions(watched_keys, availability),
      values(locks, watched_keys, event_publisher),
      replies(locks, unix_time, table, statistics),
      lists(values, replies, statistics),
      delivery(locks, messages, notifier, replies, lists),
      flushes(locks, values, delivery, statistics),
      access(table, statistics.counters),
      newcomers(statistics, environment.log),
      sessions(access, newcomers, locks.engine()),
      log_ins(environment, access, sessions, clients, replies, statistics),
      access_review(access, sessions, clients, table, locks, delivery, lists),
      lifecycle({.locks = locks,
                 .statistics = statistics,
                 .clients = clients,
                 .channels = channels,
                 .notifier = notifier,
                 .monitors = monitors,
                 .transactions = transactions,
                 .newcomers = newcomers,
                 .sessions = sessions,
                 .grants = grants,
                 .delivery = delivery,
                 .lists = lists,
                 .flushes = flushes,
                 .own_user = access.own_user()}),
      audit(environment),
      admission(table, access, routing, availability),
      prefetch(table, locks.engine(), recorder),
      executor(*this, {.table = table,
                       .admission = admission,
                       .transactions = transactions,
                       .routing = routing,
                       .availability = availability,
                       .statistics = statistics,
                       .monitors = monitors,
                       .delivery = delivery,
                       .values = values,
                       .locks = locks,
                       .clock = environment.clock,
                       .audit = audit}),
      scripts({.executor = executor,
               .prefetch = prefetch,
               .availability = availability,
               .delivery = delivery,
               .locks = locks,
               .routing = routing,
               .statistics = statistics,
               .environment = environment}),
      script_turns(environment.clock, table),
      unit_warnings(environment.log),
      pipeline{.executor = executor,
               .prefetch = prefetch,
               .availability = availability,
               .work = work,
               .script_turns = script_turns,
               .statistics = statistics,
               .lifecycle = lifecycle,
               .grants = grants} {
  if (recorder.is_on()) locks.AddEventSink(recorder);
  locks.engine().set_notice_sink(&notifier);
}

void ServerParts::ServePartition(std::uint32_t partition, std::uint32_t partitions) {
  routing.Serve(partition, partitions);
  channels.set_notify_reaches_shards(true);
}

bool ServerParts::Advance(engine::TimeMs now, std::size_t steps_max) {
  if (newcomers.NextDeadline() <= now) newcomers.CloseDue(now);
  channels.PublishDeferred();
  bool is_more_due = locks.engine().Advance(steps_max, locks.StepAt(now));
  if (values.store().Advance(now, steps_max)) is_more_due = true;
  if (flushes.Advance(now)) is_more_due = true;
  lists.EndDue(now);
  delivery.Deliver(now);
  return is_more_due || channels.has_deferred();
}

engine::TimeMs ServerParts::NextDeadline() const {
  if (!flushes.empty()) return 0;
  return std::min({locks.engine().NextDeadline(), newcomers.NextDeadline(),
                   values.store().NextDeadline(), values.waiters().NextDeadline()});
}

}  // namespace fairlock::command
