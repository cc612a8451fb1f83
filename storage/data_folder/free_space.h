// How much room a file system has left.
#pragma once

#include <cstdint>
#include <string>

#include "storage/status.h"

namespace fairlock::storage {

// For a process without privileges, on the file system of that file or folder.
Result<std::uint64_t> FreeBytes(const std::string& path);

// Names the boot of the machine; empty: the system does not tell.
std::string BootId();

}  // namespace fairlock::storage
