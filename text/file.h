// Reads whole files.
#pragma once

#include <string>

namespace fairlock::text {

struct FileContent {
  std::string bytes;  // what was read before the error, if there was one
  int error = 0;      // errno; 0 if the file was read to its end

  bool is_read() const { return error == 0; }
  // The system's words for the error.
  std::string reason() const;
};

// Also reads pipes and devices, to their end. A folder is the error EISDIR.
FileContent ReadFile(const std::string& path);

}  // namespace fairlock::text
