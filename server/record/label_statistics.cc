#include "server/record/label_statistics.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "server/record/label_counts.h"

namespace fairlock::record {

namespace {

// There are two more series: one for events without a label, and one for labels that are counted
// together.
constexpr std::size_t kSeriesBeside = 2;

std::size_t SeriesChainCount(std::size_t labels_max) {
  return std::bit_ceil(labels_max + kSeriesBeside);
}

std::size_t PastBytes(std::size_t labels_max) {
  return (labels_max + kSeriesBeside) * LabelStatistics::kDayBytes;
}

}  // namespace

LabelStatistics::LabelStatistics(std::size_t labels_max, engine::TimeMs now)
    : labels_max_(labels_max),
      started_at_(now),
      past_(PastBytes(labels_max), SeriesChainCount(labels_max)) {
  static_assert(sizeof(PastMinute) + LabelCounts<std::uint32_t>::kPackedBytesMax <
                RecordRing::kRecordBytesMax);
  assert(labels_max >= 1 && labels_max <= kLabelsMax);
  series_.reserve(labels_max + kSeriesBeside);
  AddSeries("");
  AddSeries(kOther);
}

LabelStatistics::Series& LabelStatistics::AddSeries(std::string_view label) {
  auto series = std::make_unique<Series>();
  series->label = label;
  series->index = series_.size();
  series_.push_back(std::move(series));
  Series& added = *series_.back();
  by_label_.emplace(added.label, &added);
  return added;
}

void LabelStatistics::Count(const engine::Event& event, LabelCounts<std::uint32_t>& counts) {
  CountEvent(event, counts);
}

void LabelStatistics::TakeElsewhere(const engine::Event& event) {
  Series& series = event.label.empty() ? *series_.front() : Find(event.label, event.at);
  if (event.at >= series.end) TurnTo(series, MinuteOf(event.at));
  Count(event, series.counts);
}

void LabelStatistics::TakeWithoutAge(const engine::Event& event) {
  Series& series = event.label.empty() ? *series_.front() : Find(event.label, event.at);
  if (event.at >= series.end) TurnTo(series, MinuteOf(event.at));
  CountEventWithoutAge(event, series.counts);
}

LabelStatistics::Series& LabelStatistics::Find(std::string_view label, engine::TimeMs at) {
  if (const auto found = by_label_.find(label); found != by_label_.end()) return *found->second;
  if (series_.size() < labels_max_ + kSeriesBeside) return AddSeries(label);
  Series* idle = FindIdle(MinuteOf(at));
  if (idle == nullptr) return *series_[1];
  by_label_.erase(idle->label);
  idle->label = label;
  by_label_.emplace(idle->label, idle);
  return *idle;
}

LabelStatistics::Series* LabelStatistics::FindIdle(std::uint32_t minute) {
  if (minute == idle_searched_in_) return nullptr;
  for (std::size_t i = kSeriesBeside; i < series_.size(); ++i) {
    if (series_[i]->minute + kMinutesMax < minute) return series_[i].get();
  }
  idle_searched_in_ = minute;
  return nullptr;
}

void LabelStatistics::TurnTo(Series& series, std::uint32_t minute) {
  if (series.counts.IsAnyCounted()) {
    std::array<char, LabelCounts<std::uint32_t>::kPackedBytesMax> packed;
    const auto bytes = static_cast<std::size_t>(series.counts.Pack(packed.data()) - packed.data());
    past_.MakeRoom();
    char* at = past_.Append(sizeof(PastMinute) + bytes, series.index);
    new (at) PastMinute{.minute = series.minute, .written = minute};
    std::memcpy(at + sizeof(PastMinute), packed.data(), bytes);
    series.counts = {};
  }
  series.minute = minute;
  series.end = (engine::TimeMs{minute} + 1) * kMinuteMs;
}

// Reading -----------------------------------------------------------------------------------------

// Sums the counts that a query requests.
class LabelStatistics::Reading {
 public:
  Reading(const LabelStatistics& statistics, const StatisticsQuery& query, engine::TimeMs now,
          const std::function<void(const StatisticsRow&)>& visit)
      : statistics_(statistics), query_(query), visit_(visit), last_(MinuteOf(now)) {
    const auto minutes = static_cast<std::uint32_t>(query.minutes) - 1;
    first_ = last_ > minutes ? last_ - minutes : 0;
  }

  void Read(const Series& series) {
    const bool is_present_in = IsIn(series.minute) && series.counts.IsAnyCounted();
    FindPastMinutes(series);
    for (auto position = positions_.rbegin(); position != positions_.rend(); ++position) {
      sum_->AddPacked(statistics_.past_.At(*position) + sizeof(PastMinute));
      if (query_.is_by_minute) Tell(series, MinuteAt(*position));
    }
    if (is_present_in) sum_->Add(series.counts);
    if (is_present_in || (!query_.is_by_minute && !positions_.empty())) Tell(series, series.minute);
  }

 private:
  bool IsIn(std::uint32_t minute) const { return minute >= first_ && minute <= last_; }
  std::uint32_t MinuteAt(RecordRing::Position position) const {
    return reinterpret_cast<const PastMinute*>(statistics_.past_.At(position))->minute;
  }

  // Finds the past minutes from the newest to the oldest.
  void FindPastMinutes(const Series& series) {
    const RecordRing& past = statistics_.past_;
    positions_.clear();
    RecordRing::Position position = past.NewestOf(series.index);
    while (position != RecordRing::kNone && IsIn(MinuteAt(position))) {
      positions_.push_back(position);
      position = past.BeforeInChain(position);
    }
  }

  void Tell(const Series& series, std::uint32_t minute) {
    const engine::TimeMs since = query_.is_by_minute ? minute * kMinuteMs : first_ * kMinuteMs;
    visit_({series.label, since, *sum_});
    *sum_ = {};
  }

  const LabelStatistics& statistics_;
  const StatisticsQuery& query_;
  const std::function<void(const StatisticsRow&)>& visit_;
  std::uint32_t first_ = 0;
  const std::uint32_t last_;
  std::vector<RecordRing::Position> positions_;
  std::unique_ptr<LabelCounts<std::uint64_t>> sum_ = std::make_unique<LabelCounts<std::uint64_t>>();
};

void LabelStatistics::Read(const StatisticsQuery& query, engine::TimeMs now,
                           const std::function<void(const StatisticsRow&)>& visit) const {
  Reading reading(*this, query, now, visit);
  std::vector<const Series*> asked;
  for (const auto& series : series_) {
    if (!query.label || *query.label == series->label) asked.push_back(series.get());
  }
  std::ranges::sort(asked, {}, &Series::label);
  for (const Series* series : asked) reading.Read(*series);
}

std::vector<std::string> LabelStatistics::Labels() const {
  std::vector<std::string> labels;
  labels.reserve(series_.size());
  for (const auto& series : series_) labels.push_back(series->label);
  std::ranges::sort(labels);
  return labels;
}

engine::TimeMs LabelStatistics::complete_since() const {
  if (!past_.has_dropped()) return started_at_;
  // Each dropped minute was packed before the oldest remaining one, so it had ended by the time at
  // which that one was packed.
  const char* oldest = past_.At(past_.oldest());
  return reinterpret_cast<const PastMinute*>(oldest)->written * kMinuteMs;
}

std::size_t LabelStatistics::memory_bytes() const {
  return past_.memory_bytes() + series_.size() * sizeof(Series);
}

std::size_t LabelStatistics::MemoryBytesMax(std::size_t labels_max) {
  // Chains and marks add less than 2 %.
  return PastBytes(labels_max) * 51 / 50 + (labels_max + kSeriesBeside) * sizeof(Series);
}

}  // namespace fairlock::record
