// Implements `fairlockd --hash-password`.
#pragma once

namespace fairlock::server {

// Reads a line from standard input, without echo on a terminal, and prints its slow hash.
// Returns false after printing an error.
bool PrintPasswordHash();

}  // namespace fairlock::server
