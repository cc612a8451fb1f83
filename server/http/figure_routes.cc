// Statistics: by label, by minute, and for Prometheus.

#include <array>
#include <boost/json/array.hpp>
#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "json/reply_json.h"
#include "server/http/answers.h"
#include "server/http/command_caller.h"
#include "server/http/inputs.h"
#include "server/http/metrics_page.h"
#include "server/http/minute_figures.h"
#include "server/http/route.h"
#include "server/http/schema.h"
#include "server/record/duration_histogram.h"

namespace fairlock::http {

namespace {

constexpr std::int64_t kMinutesDefault = 60;
constexpr std::int64_t kMinutesMax = record::LabelStatistics::kMinutesMax;
// Limited because each row is costly, mainly because of its percentiles.
constexpr std::int64_t kMinuteRowsMax = 180;

void AddDurations(boost::json::object& object, const std::string& name,
                  const record::DurationHistogram<std::uint64_t>& durations) {
  const bool is_any = durations.CountAll() > 0;
  const auto add = [&](std::string_view end, engine::DurationMs duration_ms) {
    object[name + std::string(end)] =
        is_any ? boost::json::value(duration_ms) : boost::json::value();
  };
  for (const record::Quantile& quantile : record::kQuantiles) {
    add(quantile.name, durations.Quantile(quantile.part));
  }
  add("_max_ms", durations.longest_ms());
}

// Answers with the same data as STATS.
class StatisticsWork final : public SharedWork {
 public:
  StatisticsWork(command::ServerParts& server, record::StatisticsQuery query,
                 const std::string* label)
      : server_(server),
        query_(query),
        labels_(label == nullptr ? server.recorder.statistics()->Labels()
                                 : std::vector<std::string>{*label}) {}

  std::optional<Answer> Step(CommandCaller&, engine::TimeMs now) override {
    const record::LabelStatistics& statistics = *server_.recorder.statistics();
    if (next_ < labels_.size()) {
      query_.label = labels_[next_++];
      statistics.Read(query_, now, [&](const record::StatisticsRow& row) { Take(row, now); });
      return std::nullopt;
    }
    boost::json::object total = Written({"", since_, *total_}, now);
    return JsonAnswer(
        {{"statistics",
          {{"complete_since", server_.unix_time.MsOf(statistics.complete_since(), now)},
           {"labels", std::move(rows_)},
           {"total", std::move(total)}}}});
  }

 private:
  void Take(const record::StatisticsRow& row, engine::TimeMs now) {
    since_ = rows_.empty() ? row.since : std::min(since_, row.since);
    total_->Add(row.counts);
    rows_.push_back(Written(row, now));
  }

  boost::json::object Written(const record::StatisticsRow& row, engine::TimeMs now) const {
    boost::json::object object;
    if (row.label.empty()) {
      object["label"] = nullptr;
    } else {
      json::AddText(object, "label", row.label);
    }
    object["since"] = server_.unix_time.MsOf(row.since, now);
    for (std::size_t i = 0; i < record::kCounterNames.size(); ++i) {
      object[record::kCounterNames[i]] = row.counts.counts[i];
    }
    AddDurations(object, "wait", row.counts.waits);
    AddDurations(object, "hold", row.counts.holds);
    return object;
  }

  command::ServerParts& server_;
  record::StatisticsQuery query_;
  const std::vector<std::string> labels_;
  std::size_t next_ = 0;
  boost::json::array rows_;
  engine::TimeMs since_ = 0;
  std::unique_ptr<record::LabelCounts<std::uint64_t>> total_ =
      std::make_unique<record::LabelCounts<std::uint64_t>>();
};

bool IsWithin(std::int64_t minutes, std::int64_t minutes_max) {
  return minutes >= 1 && minutes <= minutes_max;
}

Answer RefuseMinutes(std::int64_t minutes_max) {
  return Refusal(400, "ERR", "minutes must be from 1 to " + std::to_string(minutes_max));
}

Outcome ShowStatistics(const RouteCall& call) {
  command::ServerParts& server = call.commands.server();
  if (server.recorder.statistics() == nullptr) {
    return RefusalOf(call.commands.Call({"STATS"}, call.now));
  }
  if (auto refusal = RefuseDenied(call.commands, {"STATS"})) return *std::move(refusal);
  const std::int64_t minutes = call.inputs.Number("minutes", kMinutesDefault);
  const bool is_by_minute = call.inputs.Flag("by_minute");
  const std::int64_t minutes_max = is_by_minute ? kMinuteRowsMax : kMinutesMax;
  if (!IsWithin(minutes, minutes_max)) return RefuseMinutes(minutes_max);
  const std::string* label = call.inputs.Find("label");
  if (is_by_minute && label == nullptr) {
    return Refusal(400, "ERR", "by_minute is for one label: give label too");
  }
  const std::string question = "statistics " + std::to_string(minutes) +
                               (is_by_minute ? " by minute " : " ") +
                               (label == nullptr ? "*" : "=" + *label);
  return call.figures.shared.Take(question, SharedAnswers::kWalkAgeMsMax, call, [&] {
    return std::make_unique<StatisticsWork>(
        server,
        record::StatisticsQuery{.minutes = static_cast<int>(minutes), .is_by_minute = is_by_minute},
        label);
  });
}

struct Column {
  std::string_view name;
  std::uint64_t Moment::*value;
  bool is_counted;  // true: the increase in the minute; false: the value at its end
};

constexpr auto kColumns = std::to_array<Column>({
    {"requests", &Moment::requests, true},
    {"granted", &Moment::granted, true},
    {"granted_after_wait", &Moment::granted_after_wait, true},
    {"denied", &Moment::denied, true},
    {"released", &Moment::released, true},
    {"expired", &Moment::expired, true},
    {"timed_out", &Moment::timed_out, true},
    {"broken", &Moment::broken, true},
    {"waiting", &Moment::waiting, false},
    {"held", &Moment::held, false},
    {"connections", &Moment::connections, false},
});

std::uint64_t ValueOf(const Column& column, const Moment& from, const Moment& to) {
  const std::uint64_t now = to.*column.value;
  if (!column.is_counted) return now;
  // If CONFIG RESETSTAT came in between, the count has started again from zero.
  const std::uint64_t before = from.*column.value;
  return now >= before ? now - before : now;
}

// Computes one column per step.
class MinutesWork final : public SharedWork {
 public:
  explicit MinutesWork(std::vector<Moment> moments) : moments_(std::move(moments)) {}

  std::optional<Answer> Step(CommandCaller& commands, engine::TimeMs now) override {
    if (next_ < kColumns.size()) {
      const Column& column = kColumns[next_++];
      Write(column.name, [&](const Moment& from, const Moment& to) {
        return static_cast<std::int64_t>(ValueOf(column, from, to));
      });
      return std::nullopt;
    }
    const command::ServerParts& server = commands.server();
    Write("at",
          [&](const Moment& from, const Moment&) { return server.unix_time.MsOf(from.at, now); });
    Write("span_ms", [](const Moment& from, const Moment& to) { return to.at - from.at; });
    return Answer{.body = std::move(body_) + "}\n"};
  }

 private:
  // Writes one column. Calls `value` with the samples from the beginning and the end of each
  // minute.
  template <typename Value>
  void Write(std::string_view name, Value&& value) {
    body_.append(body_.empty() ? "{\"" : ",\"").append(name).append("\":[");
    for (std::size_t i = 1; i < moments_.size(); ++i) {
      std::array<char, 24> digits;
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(),
                                     value(moments_[i - 1], moments_[i]));
      if (i > 1) body_ += ',';
      body_.append(digits.data(), end.ptr);
    }
    body_ += ']';
  }

  const std::vector<Moment> moments_;
  std::size_t next_ = 0;
  std::string body_;
};

Outcome ShowMinutes(const RouteCall& call) {
  const std::int64_t count = call.inputs.Number("minutes", kMinutesDefault);
  if (!IsWithin(count, kMinutesMax)) return RefuseMinutes(kMinutesMax);
  // INFO shows the current values of these figures, so reading them needs the same permission.
  if (auto refusal = RefuseDenied(call.commands, {"INFO"})) return *std::move(refusal);
  return call.figures.shared.Take(
      "minutes " + std::to_string(count), SharedAnswers::kWalkAgeMsMax, call, [&] {
        std::vector<Moment> moments = call.figures.minutes.Newest(static_cast<std::size_t>(count));
        moments.push_back(MomentOf(call.commands.server(), call.now));
        return std::make_unique<MinutesWork>(std::move(moments));
      });
}

Outcome ShowMetrics(const RouteCall& call) {
  return call.figures.shared.Take("metrics", 0, call,
                                  [&] { return MakeMetricsPage(call.commands.server()); });
}

constexpr auto kStatisticsParameters = std::to_array<Parameter>({
    {"label", ValueType::kText, false, "", "Only this label"},
    {"minutes", ValueType::kNumber, false, "", "How many minutes to go back; 60 if not given"},
    {"by_minute", ValueType::kFlag, false, "", "A row for each minute of one label, 180 at most"},
});

constexpr auto kMinutesParameters = std::to_array<Parameter>({
    {"minutes", ValueType::kNumber, false, "",
     "How many minutes to go back; 60 if not given, 1,440 at most"},
});

constexpr auto kFigureRoutes = std::to_array<Route>({
    {Verb::kGet,
     "/metrics",
     Access::kOpen,
     ShowMetrics,
     "showMetrics",
     "All metrics in the Prometheus text format",
     {},
     nullptr,
     kWithoutLocks},
    {Verb::kGet, "/api/v1/statistics", Access::kRead, ShowStatistics, "showStatistics",
     "Counts, waits and holds by label", kStatisticsParameters, &kStatisticsSchema, kWithoutLocks},
    {Verb::kGet, "/api/v1/minutes", Access::kRead, ShowMinutes, "showMinutes",
     "What the whole server did, minute by minute", kMinutesParameters, &kMinutesSchema,
     kWithoutLocks},
});

}  // namespace

std::span<const Route> FigureRoutes() { return kFigureRoutes; }

}  // namespace fairlock::http
