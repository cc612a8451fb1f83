// Looks at a server over HTTP as dashboards do.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/load_generator/connection.h"

namespace fairlock::bench {

// One that asks for each of its paths over a kept connection, at equal intervals until the end.
struct Page {
  double pause_s = 1;
  std::vector<std::string> paths;
};

// "SECONDS PATH [PATH ...]".
Page ParsePage(const std::string& text);

struct PagesOptions {
  Endpoint endpoint;  // of HTTP
  std::vector<Page> pages;
};

// Until SIGTERM; between SIGUSR2 and SIGUSR1 they let their moments pass. How many requests were
// answered, each by 200. Whatever else comes ends the program.
std::size_t LookAtPages(const PagesOptions& options);

}  // namespace fairlock::bench
