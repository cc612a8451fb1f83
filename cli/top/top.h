// The full-screen view: looks again and again, and does what is typed.
#pragma once

#include <optional>
#include <string>

#include "cli/arguments/command.h"
#include "cli/base/clock.h"
#include "cli/top/terminal_screen.h"
#include "cli/top/top_data.h"

namespace fairlock::cli {

struct TopOptions {
  std::string glob = "*";
  DurationMs every_ms = 1000;
};

class Top {
 public:
  Top(const TopOptions& options, Context& context);

  // Until somebody quits. A server that goes away is shown, and asked again.
  Result<int> Run();

 private:
  struct Question {
    TopKey key;
    LockView seen;
  };

  void Look();
  void LookAtOverview();
  void LookAtKey();
  void LookAtPast();
  void Draw();
  Frame Picture() const;
  void Take(const Keystroke& key);
  void TakeCommand(const Keystroke& key);
  void TakeAnswer(char answer);
  void TakeFilter(const Keystroke& key);
  void GoBack();
  FrameLine Bottom() const;
  void Move(int by);
  void Sort();
  void Ask();
  void Fail(const Failure& failure);
  std::optional<TopKey> Chosen() const;
  std::size_t ChosenRow() const;

  TopOptions options_;
  Context& context_;
  TerminalScreen terminal_;
  Screen screen_;  // of the size that the terminal has now
  Contention sorted_by_ = Contention::kWaiters;
  std::optional<Overview> overview_;
  std::optional<Overview> before_;
  std::optional<TopKey> selected_;  // in the overview
  std::optional<TopKey> opened_;    // the key that is looked at
  std::optional<OneKey> one_key_;
  std::optional<TopKey> past_of_;  // the key whose history is looked at
  std::optional<KeyPast> past_;
  std::string filter_;                 // as it was typed
  std::optional<std::string> typing_;  // the filter that is being typed
  bool is_helping_ = false;
  std::optional<Question> question_;
  std::string note_;     // what was done last
  std::string trouble_;  // why nothing newer can be shown
  TimeMs look_at_ = 0;
  bool is_over_ = false;
};

}  // namespace fairlock::cli
