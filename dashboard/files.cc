#include "dashboard/files.h"

#include <array>
#include <cstddef>

// Defined in bytes.S.
extern "C" {
extern const char fairlock_index_begin[];
extern const char fairlock_index_end[];
extern const char fairlock_icon_begin[];
extern const char fairlock_icon_end[];
extern const char fairlock_style_begin[];
extern const char fairlock_style_end[];
extern const char fairlock_script_begin[];
extern const char fairlock_script_end[];
}

namespace fairlock::dashboard {

namespace {

std::string_view Between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::span<const File> AllFiles() {
  static const auto kFiles = std::to_array<File>({
      {"/", "text/html; charset=utf-8", Between(fairlock_index_begin, fairlock_index_end)},
      {"/icon.svg", "image/svg+xml", Between(fairlock_icon_begin, fairlock_icon_end)},
      {"/page.css", "text/css; charset=utf-8", Between(fairlock_style_begin, fairlock_style_end)},
      {"/page.js", "text/javascript; charset=utf-8",
       Between(fairlock_script_begin, fairlock_script_end)},
  });
  return kFiles;
}

}  // namespace fairlock::dashboard
