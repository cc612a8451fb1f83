// A copy of the data of a running server.
#pragma once

#include <string>

#include "storage/data_folder/open_data.h"
#include "storage/status.h"

namespace fairlock::storage {

// Makes a data folder at `path`, which must not exist nor lie within the data folder itself, in a
// folder that exists, with the state as of now: tables as hard links if it is on the same file
// system, else copied. It is there whole or not at all. May run on a thread of its own while
// appends go on. Whoever starts on it, or on a copy of it, finds that it is a copy, and begins its
// tokens higher.
Status BackUp(const OpenedData& data, const std::string& path);

}  // namespace fairlock::storage
