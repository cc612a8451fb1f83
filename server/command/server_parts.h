// The composition root of this folder. It constructs everything that commands work on, in order.
#pragma once

#include <cstddef>

#include "server/command/auth/access_control.h"
#include "server/command/auth/access_review.h"
#include "server/command/auth/log_ins.h"
#include "server/command/auth/newcomers.h"
#include "server/command/client/client_registry.h"
#include "server/command/client/unsent_grants.h"
#include "server/command/cluster/key_routing.h"
#include "server/command/delivery/awaited_replies.h"
#include "server/command/delivery/effect_delivery.h"
#include "server/command/delivery/flushes.h"
#include "server/command/delivery/list_delivery.h"
#include "server/command/environment/clock.h"
#include "server/command/environment/environment.h"
#include "server/command/execution/admission.h"
#include "server/command/execution/audit.h"
#include "server/command/execution/client_lifecycle.h"
#include "server/command/execution/executor.h"
#include "server/command/execution/request_pipeline.h"
#include "server/command/execution/script_turns.h"
#include "server/command/locks/availability.h"
#include "server/command/locks/locks.h"
#include "server/command/pubsub/channels.h"
#include "server/command/pubsub/event_publisher.h"
#include "server/command/pubsub/held_messages.h"
#include "server/command/pubsub/monitors.h"
#include "server/command/pubsub/notifier.h"
#include "server/command/scripting/scripts.h"
#include "server/command/statistics/statistics.h"
#include "server/command/table/command_table.h"
#include "server/command/table/glob_walk.h"
#include "server/command/transactions/transactions.h"
#include "server/command/values/values.h"
#include "server/engine/lock_engine.h"
#include "server/record/recorder.h"

namespace fairlock::command {

// Contains no logic. Each part is given the parts that it uses; handlers reach all of them through
// their invocation. Must outlive its clients. Loop-confined.
struct ServerParts {
  ServerParts(CommandTable the_table, const engine::EngineOptions& engine_options,
              Environment the_environment, engine::TimeMs now,
              const record::RecorderOptions& recorder_options = {});
  ServerParts(const ServerParts&) = delete;
  ServerParts& operator=(const ServerParts&) = delete;

  // Makes this server a node of a fleet whose clients route their requests: it serves the keys of
  // that partition only. REQUIRES: environment.fleet is set.
  void ServePartition(std::uint32_t partition, std::uint32_t partitions);

  // Expires what is due, but only about `steps_max` timers at a time. Returns true if more is due,
  // so that the next turn should follow at once.
  bool Advance(engine::TimeMs now, std::size_t steps_max);
  // When Advance must be called next; engine::kNever: not until something else happens.
  engine::TimeMs NextDeadline() const;

  Environment environment;
  const engine::TimeMs started_at;
  CommandTable table;
  Locks locks;
  record::Recorder recorder;
  UnixTime unix_time;
  Statistics statistics;
  Availability availability;
  KeyRouting routing;
  WorkMeter work;

  GrantsInFlight grants;
  ClientRegistry clients;
  Channels channels;
  HeldMessages messages;
  EventPublisher event_publisher;
  Notifier notifier;
  Monitors monitors;
  WatchedKeys watched_keys;
  Transactions transactions;
  Values values;
  AwaitedReplies replies;
  ListDelivery lists;
  EffectDelivery delivery;
  Flushes flushes;

  AccessControl access;
  Newcomers newcomers;
  Sessions sessions;
  LogIns log_ins;
  AccessReview access_review;
  ClientLifecycle lifecycle;

  Audit audit;
  Admission admission;
  RequestPrefetch prefetch;
  Executor executor;
  Scripts scripts;
  ScriptTurns script_turns;
  UnitWarnings unit_warnings;
  PipelineParts pipeline;
};

}  // namespace fairlock::command
