#include "tests/scenarios/scenario_reader.h"

#include <algorithm>
#include <utility>

#include "tests/scenarios/line_reader.h"
#include "tests/scenarios/pattern_reader.h"

namespace fairlock::scenarios {

namespace {

std::string_view Trimmed(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

// Returns how many brackets are open at the end; brackets in double quotes do not count.
int OpenBrackets(std::string_view text) {
  int open = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (is_quoted) {
      if (c == '\\') ++i;
    } else if (c == '[' || c == '{') {
      ++open;
    } else if (c == ']' || c == '}') {
      --open;
    }
  }
  return open;
}

// Raw bytes may contain any number of requests.
constexpr int kRequestsInBytes = 1'000'000;

class ScenarioReader {
 public:
  explicit ScenarioReader(std::string_view text) : text_(text) {}

  void Read(Scenario& scenario);
  int line() const { return line_; }
  const std::string& error() const { return error_; }

 private:
  // Finds the next line that is not empty; returns false if there is none.
  bool NextLine(std::string_view& line);
  void ReadTitle(LineReader& reader, std::vector<Case>& cases);
  void ReadStep(LineReader& reader);
  void ReadStepOf(LineReader& reader, std::string who);
  void ReadRequest(LineReader& reader, std::string who);
  void ReadBytes(LineReader& reader, std::string who);
  void ReadReply(LineReader& reader, std::string who);
  Step& Add(StepKind kind, std::string who);
  void CheckAnswered();

  std::string_view text_;
  int line_ = 0;
  std::string error_;
  Case* case_ = nullptr;
  // The exchange being read: the connection, its requests, and how many of them have a reply.
  std::string asker_;
  int requests_ = 0;
  int replies_ = 0;
  // a wait or a close determines the outcome of the requests without a reply
  bool is_settled_ = true;
};

bool ScenarioReader::NextLine(std::string_view& line) {
  while (!text_.empty()) {
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    line = Trimmed(text_.substr(0, end));
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++line_;
    if (!line.empty() && line.front() != '#') return true;
  }
  return false;
}

void ScenarioReader::Read(Scenario& scenario) {
  std::vector<Case>& cases = scenario.cases;
  std::string_view line;
  while (error_.empty() && NextLine(line)) {
    LineReader reader(line);
    if (reader.TakeSign("==")) {
      CheckAnswered();
      ReadTitle(reader, cases);
    } else if (case_ == nullptr && reader.TakeWord("option")) {
      std::string name = reader.Name("the name of the option");
      scenario.options.push_back({std::move(name), std::string(reader.Rest())});
    } else if (case_ == nullptr) {
      reader.Fail("a case begins with '== what it shows'");
    } else {
      ReadStep(reader);
    }
    reader.Finish();
    if (error_.empty()) error_ = reader.error();
  }
  if (error_.empty()) CheckAnswered();
  if (error_.empty() && cases.empty()) error_ = "there is no case";
  if (error_.empty() && case_->steps.empty()) error_ = "the case has no steps";
}

void ScenarioReader::ReadTitle(LineReader& reader, std::vector<Case>& cases) {
  if (case_ != nullptr && case_->steps.empty()) reader.Fail("the case before has no steps");
  std::string_view title = reader.Rest();
  case_ = &cases.emplace_back();
  case_->line = line_;
  while (!title.empty() && title.back() == ']') {
    const std::size_t open = std::min(title.rfind('['), title.size());
    const std::string_view tag = title.substr(open);
    if (tag == "[virtual-only]") {
      case_->is_virtual_only = true;
    } else if (tag == "[RESP2]" || tag == "[RESP3]") {
      case_->resp_version = tag[5] - '0';
    } else {
      reader.Fail("behind a title stands [virtual-only], [RESP2] or [RESP3]");
      return;
    }
    title = Trimmed(title.substr(0, open));
  }
  case_->title = title;
  if (title.empty()) reader.Fail("the case has no title");
}

Step& ScenarioReader::Add(StepKind kind, std::string who) {
  Step& step = case_->steps.emplace_back();
  step.kind = kind;
  step.line = line_;
  step.who = std::move(who);
  return step;
}

void ScenarioReader::CheckAnswered() {
  if (!is_settled_ && replies_ < requests_ && error_.empty()) {
    error_ = "a request of " + asker_ + " before has no '-> reply'";
  }
  is_settled_ = true;
  requests_ = replies_ = 0;
}

void ScenarioReader::ReadStep(LineReader& reader) {
  if (reader.TakeSign("->")) {
    if (requests_ == 0) reader.Fail("'->' stands behind a request");
    ReadReply(reader, asker_);
    return;
  }
  std::string who = reader.Name("who");
  if (who != "advance" || reader.IsNext(':')) {
    ReadStepOf(reader, std::move(who));
    return;
  }
  CheckAnswered();
  Add(StepKind::kAdvance, "").duration_ms = reader.DurationMs();
}

void ScenarioReader::ReadStepOf(LineReader& reader, std::string who) {
  if (reader.TakeSign(":")) {
    if (!reader.TakeSign("<-")) {
      ReadRequest(reader, std::move(who));
      return;
    }
    CheckAnswered();
    ReadReply(reader, std::move(who));
  } else if (reader.TakeWord("sends")) {
    ReadBytes(reader, std::move(who));
  } else if (reader.TakeWord("disconnects")) {
    CheckAnswered();
    Add(StepKind::kDisconnect, std::move(who));
  } else {
    reader.Fail("behind a name stands ': REQUEST', ': <- REPLY', 'sends' or 'disconnects'");
  }
}

void ScenarioReader::ReadRequest(LineReader& reader, std::string who) {
  // Consecutive requests are sent together, and their replies follow the last one.
  if (who != asker_ || replies_ > 0 || is_settled_) CheckAnswered();
  asker_ = who;
  is_settled_ = false;
  ++requests_;
  Step& step = Add(StepKind::kRequest, std::move(who));
  while (!reader.AtEnd()) {
    if (reader.IsNext('"')) {
      step.words.push_back({reader.Text(), false});
    } else if (reader.TakeSign("$")) {
      step.words.push_back({reader.Name("a name"), true});
    } else {
      step.words.push_back({reader.BareWord(), false});
    }
  }
  if (step.words.empty()) reader.Fail("the request is empty");
}

void ScenarioReader::ReadBytes(LineReader& reader, std::string who) {
  CheckAnswered();
  asker_ = who;
  requests_ = kRequestsInBytes;
  Add(StepKind::kBytes, std::move(who)).words.push_back({reader.Text(), false});
}

void ScenarioReader::ReadReply(LineReader& reader, std::string who) {
  const bool is_wait = reader.TakeSign("(waits)");
  if (is_wait || reader.TakeSign("(closed)")) {
    is_settled_ = true;
    Add(is_wait ? StepKind::kNoReply : StepKind::kClosed, std::move(who));
    return;
  }
  Step& step = Add(StepKind::kReply, std::move(who));
  std::string whole(reader.Rest());
  std::string_view line;
  while (OpenBrackets(whole) > 0 && NextLine(line)) whole.append("\n").append(line);
  LineReader value(whole);
  step.reply = ReadPattern(value);
  value.Finish();
  if (value.failed()) reader.Fail(value.error());
  if (requests_ > 0 && ++replies_ > requests_) reader.Fail("there are more replies than requests");
}

}  // namespace

ReadResult ReadScenario(std::string path, std::string_view text) {
  ReadResult result;
  ScenarioReader reader(text);
  reader.Read(result.scenario);
  if (!reader.error().empty()) {
    result.error = path + ":" + std::to_string(reader.line()) + ": " + reader.error();
  }
  result.scenario.path = std::move(path);
  return result;
}

}  // namespace fairlock::scenarios
