// The files of the operators' page, which are a part of the program.
#pragma once

#include <span>
#include <string_view>

namespace fairlock::dashboard {

struct File {
  std::string_view path;  // under which a browser asks for it
  std::string_view content_type;
  std::string_view bytes;  // compressed, as content encoding gzip
};

std::span<const File> AllFiles();

}  // namespace fairlock::dashboard
