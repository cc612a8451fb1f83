// The content of a scenario file: cases, each a list of steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/scenarios/pattern.h"

namespace fairlock::scenarios {

// One word of a request: its bytes, or a name that stands for a value.
struct Word {
  std::string text;
  bool is_name = false;
};

enum class StepKind : std::uint8_t {
  kRequest,     // who, words
  kBytes,       // who, words; the only word is sent unchanged
  kReply,       // who, reply; this is the next reply
  kNoReply,     // who; no reply arrives yet, although a request is unanswered
  kClosed,      // who; the server closes the connection
  kDisconnect,  // who
  kAdvance,     // duration_ms
};

struct Step {
  StepKind kind = StepKind::kRequest;
  int line = 0;
  std::string who = {};
  std::vector<Word> words = {};
  Pattern reply = {};
  std::int64_t duration_ms = 0;
};

struct Case {
  std::string title;
  int line = 0;
  bool is_virtual_only = false;  // needs exact or long times
  int resp_version = 0;          // 2 or 3; 0 if the case applies to both
  std::vector<Step> steps = {};
};

// A server option, as on its command line but without the leading dashes.
struct ServerOption {
  std::string name;
  std::string value;
};

struct Scenario {
  std::string path;
  std::vector<ServerOption> options = {};
  std::vector<Case> cases = {};
};

}  // namespace fairlock::scenarios
