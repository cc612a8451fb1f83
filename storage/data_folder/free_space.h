// The free space of a file system.
#pragma once

#include <cstdint>
#include <string>

#include "storage/status.h"

namespace fairlock::storage {

// The space available to an unprivileged process on the file system of that file or folder.
Result<std::uint64_t> FreeBytes(const std::string& path);

// An ID of the current boot of the machine; empty if the system does not provide one.
std::string BootId();

}  // namespace fairlock::storage
