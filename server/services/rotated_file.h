// A file to which lines are appended, and which is renamed when it is large or old.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlock::server {

struct RotationOptions {
  std::string path;
  std::uint64_t bytes_max = 0;  // a file with more is renamed
  std::int64_t age_ms_max = 0;  // and so is one whose first line is older; 0 means at no age
  std::size_t files_max = 0;    // how many renamed files are kept: PATH.1 is the newest
};

// A part of a line, which a crash has left at the end, is cut off when the file is opened. The file
// is locked, so that no other server writes to it. Used by one thread at a time.
class RotatedFile {
 public:
  explicit RotatedFile(RotationOptions options) : options_(std::move(options)) {}
  RotatedFile(const RotatedFile&) = delete;
  RotatedFile& operator=(const RotatedFile&) = delete;
  ~RotatedFile() { Close(); }

  // Creates the file with mode 0600 if necessary. Returns the error, or an empty string.
  [[nodiscard]] std::string Open(std::int64_t unix_now_ms);
  // Appends whole lines; renames the file before that if it is time. Returns an error if nothing
  // was appended; the next call then tries again.
  [[nodiscard]] std::string Append(std::string_view lines, std::int64_t unix_now_ms);

  // The file and the renamed ones, as far as they exist, the newest first.
  static std::vector<std::string> PathsOf(const RotationOptions& options);

 private:
  bool MustRotate(std::size_t more_bytes, std::int64_t unix_now_ms) const;
  void Rotate();
  void Close();
  std::string CannotWrite() const;

  const RotationOptions options_;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
  std::int64_t begun_at_ = 0;  // Unix time of the first line
};

}  // namespace fairlock::server
