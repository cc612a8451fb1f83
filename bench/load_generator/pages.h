// Polls a server over HTTP as dashboards do.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/load_generator/connection.h"

namespace fairlock::bench {

// A page that requests each of its paths over a persistent connection, at equal intervals.
struct Page {
  double pause_s = 1;
  std::vector<std::string> paths;
};

// Parses "SECONDS PATH [PATH ...]".
Page ParsePage(const std::string& text);

struct PagesOptions {
  Endpoint endpoint;  // address of the HTTP port
  std::vector<Page> pages;
};

// Runs until SIGTERM, paused between SIGUSR2 and SIGUSR1. Returns the number of requests; each was
// answered with 200, because any other outcome ends the program.
std::size_t LookAtPages(const PagesOptions& options);

}  // namespace fairlock::bench
