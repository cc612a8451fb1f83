#include "storage/rocksdb/log_scan.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "storage/byte_coding.h"
#include "storage/crc32c.h"
#include "text/file.h"

namespace fairlock::storage {
namespace {

// The file consists of 32 KiB blocks of record fragments, which do not cross block boundaries. A
// fragment consists of a CRC of everything after the length, the length, the type, and the data.
// There are other types for logs that overwrite older ones, but fairlock does not let RocksDB do
// that.
constexpr std::size_t kBlockBytes = 32 * 1024;
constexpr std::size_t kCrcBytes = 4;
constexpr std::size_t kHeaderBytes = 7;

enum FragmentType : std::uint8_t { kZero = 0, kFull, kFirst, kMiddle, kLast };

struct Fragment {
  std::uint32_t masked_crc = 0;
  std::size_t length = 0;
  std::uint8_t type = 0;

  bool has_known_type() const { return type >= kFull && type <= kLast; }
  std::size_t size() const { return kHeaderBytes + length; }
};

Fragment ReadFragment(std::string_view bytes) {
  return {.masked_crc = ReadFixed<std::uint32_t>(bytes.data()),
          .length = ReadFixed<std::uint16_t>(bytes.data() + kCrcBytes),
          .type = static_cast<std::uint8_t>(bytes[kHeaderBytes - 1])};
}

bool IsWhole(const Fragment& fragment, std::string_view bytes) {
  if (!fragment.has_known_type() || fragment.size() > bytes.size()) return false;
  const std::string_view covered =
      bytes.substr(kHeaderBytes - 1, 1 + fragment.size() - kHeaderBytes);
  return MaskedCrc32c(ExtendCrc32c(0, covered)) == fragment.masked_crc;
}

// Whether the CRC of the fragment at the front of `bytes` would match if the length were different.
bool IsWholeWithAnotherLength(const Fragment& fragment, std::string_view bytes) {
  std::uint32_t crc = ExtendCrc32c(0, bytes.substr(kHeaderBytes - 1, 1));
  for (std::size_t at = kHeaderBytes;; ++at) {
    if (MaskedCrc32c(crc) == fragment.masked_crc) return true;
    if (at == bytes.size()) return false;
    crc = ExtendCrc32c(crc, bytes.substr(at, 1));
  }
}

bool IsAnyFragment(const Fragment& /*fragment*/) { return true; }
bool BeginsRecord(const Fragment& fragment) {
  return fragment.type == kFull || fragment.type == kFirst;
}

// Whether a block, or a part of one, contains a valid fragment of that kind anywhere.
bool ContainsWholeFragment(std::string_view block, bool (*is_meant)(const Fragment&)) {
  for (; block.size() >= kHeaderBytes; block.remove_prefix(1)) {
    const Fragment fragment = ReadFragment(block);
    if (is_meant(fragment) && IsWhole(fragment, block)) return true;
  }
  return false;
}

bool IsZero(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char byte) { return byte == 0; });
}

class Scanner {
 public:
  explicit Scanner(std::string_view content) : content_(content) {}

  LogScan Scan() {
    while (at_ < content_.size()) {
      const std::size_t block_end =
          std::min(content_.size(), (at_ / kBlockBytes + 1) * kBlockBytes);
      const std::string_view rest = content_.substr(at_, block_end - at_);
      const bool is_last_block = block_end == content_.size();
      if (rest.size() < kHeaderBytes) {
        if (is_last_block && block_end % kBlockBytes != 0) return Torn();
        at_ = block_end;  // padding, too small for a fragment
        continue;
      }
      const std::optional<LogScan> end = TakeFragment(rest, is_last_block);
      if (end) return *end;
    }
    return is_within_record_ ? Torn() : LogScan{.end = at_};
  }

 private:
  // Returns a result if the scan ends at this fragment.
  std::optional<LogScan> TakeFragment(std::string_view rest, bool is_last_block) {
    const Fragment fragment = ReadFragment(rest);
    // Preallocated space reads as zeros.
    if (IsZero(content_.substr(at_))) {
      return is_within_record_ && IsPrepared() ? Torn() : LogScan{.end = at_};
    }
    if (!fragment.has_known_type()) {
      return JudgeBroken(rest, "has unknown type " + std::to_string(fragment.type));
    }
    if (fragment.size() > rest.size()) {
      return is_last_block ? JudgeTail(fragment, rest)
                           : JudgeBroken(rest, "is longer than its block");
    }
    if (!IsWhole(fragment, rest)) return JudgeBroken(rest, "does not match its checksum");
    if (is_within_record_ != (fragment.type == kMiddle || fragment.type == kLast)) {
      return Damage("does not continue the record before it");
    }
    is_within_record_ = fragment.type == kFirst || fragment.type == kMiddle;
    at_ += fragment.size();
    return std::nullopt;
  }

  LogScan JudgeTail(const Fragment& fragment, std::string_view rest) const {
    if (IsWholeWithAnotherLength(fragment, rest))
      return Damage("is complete except for its length");
    if (IsPrepared()) return JudgeBroken(rest, "is longer than its block");
    if (ContainsWholeFragment(rest.substr(1), IsAnyFragment))
      return Damage("is followed by a complete one");
    return Torn();
  }

  // Judges an invalid fragment; `rest` is the rest of its block, which is complete.
  LogScan JudgeBroken(std::string_view rest, const std::string& what) const {
    if (!IsPrepared() || ContainsWholeFragment(rest.substr(1), BeginsRecord)) return Damage(what);
    for (std::size_t at = at_ + rest.size(); at < content_.size(); at += kBlockBytes) {
      if (ContainsWholeFragment(content_.substr(at, kBlockBytes), BeginsRecord))
        return Damage(what);
    }
    return Torn();
  }

  bool IsPrepared() const {
    return content_.size() % kPreparedBytes == 0 && content_.size() - at_ >= kPreparedBytesMin &&
           IsZero(content_.substr(content_.size() - kPreparedBytesMin));
  }

  LogScan Torn() const { return {.verdict = LogScan::Verdict::kTorn, .end = at_}; }
  LogScan Damage(const std::string& what) const {
    return {.verdict = LogScan::Verdict::kDamaged,
            .end = at_,
            .what = "the record at byte " + std::to_string(at_) + " " + what};
  }

  std::string_view content_;
  std::size_t at_ = 0;
  bool is_within_record_ = false;
};

Result<std::string> ReadFile(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  text::FileContent file = text::ReadFile(path.string());
  if (error || file.bytes.size() != size) return Failed("cannot read " + path.string());
  return std::move(file.bytes);
}

Status CheckLog(const std::filesystem::path& path, LogSizes& readable) {
  const auto content = ReadFile(path);
  if (!content.ok()) return content.status();
  const LogScan scan = ScanLog(content.value());
  if (scan.verdict == LogScan::Verdict::kDamaged) return Damaged(path.string() + ": " + scan.what);
  if (scan.end < content->size()) readable[path.filename()] = scan.end;
  return {};
}

}  // namespace

LogScan ScanLog(std::string_view content) { return Scanner(content).Scan(); }

Result<LogSizes> CheckLogs(const std::string& database_path) {
  const std::filesystem::path folder(database_path);
  const auto current = ReadFile(folder / "CURRENT");
  if (!current.ok()) return current.status();
  const std::string manifest = current->substr(0, current->find('\n'));
  LogSizes readable;
  Status status = CheckLog(folder / manifest, readable);
  readable.clear();
  bool has_log = false;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() != ".log") continue;
    has_log = true;
    if (status.ok()) status = CheckLog(entry->path(), readable);
  }
  if (error) return Failed("cannot read " + database_path + ": " + error.message());
  // A database always has a log: when it is opened, it creates one before it removes those that it
  // has read.
  if (status.ok() && !has_log) return Damaged(database_path + " has no write-ahead log");
  if (!status.ok()) return status;
  return readable;
}

}  // namespace fairlock::storage
