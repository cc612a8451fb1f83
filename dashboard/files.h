// The files of the operators' page, which are embedded in the program.
#pragma once

#include <span>
#include <string_view>

namespace fairlock::dashboard {

struct File {
  std::string_view path;  // the path in the URL
  std::string_view content_type;
  std::string_view bytes;  // gzip-compressed (Content-Encoding: gzip)
};

std::span<const File> AllFiles();

}  // namespace fairlock::dashboard
