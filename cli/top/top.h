// The full-screen view: refreshes regularly, and handles the keys.
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

  // Runs until the user quits. While the server is unreachable, shows the error and retries.
  Result<int> Run();

 private:
  struct Confirmation {
    TopKey key;
    LockView seen;
    std::string next;  // the owner that gets the lock; empty if nobody waits
  };

  void Refresh();
  void RefreshOverview();
  // Finds them, or finds them again if one has failed. Returns false after Fail().
  bool FindLeaders();
  void RefreshKey();
  void RefreshHistory();
  void Draw();
  Frame CurrentFrame() const;
  std::string ServerText() const;
  void HandleKey(const Keystroke& key);
  void HandleCommandKey(const Keystroke& key);
  void HandleAnswer(char answer);
  void HandleFilterKey(const Keystroke& key);
  void GoBack();
  FrameLine BottomLine() const;
  void Move(int by);
  void Sort();
  void AskToBreak();
  void Fail(const Failure& failure);
  std::optional<TopKey> Chosen() const;
  std::size_t ChosenRow() const;

  TopOptions options_;
  Context& context_;
  std::optional<FleetLeaders> leaders_;
  TerminalScreen terminal_;
  Screen screen_;  // has the terminal's current size
  Contention sorted_by_ = Contention::kWaiters;
  std::optional<Overview> overview_;
  std::optional<Overview> before_;
  std::optional<TopKey> selected_;  // the key selected in the overview
  std::optional<TopKey> opened_;    // the key shown in detail
  std::optional<OneKey> one_key_;
  std::optional<TopKey> history_of_;  // the key whose history is shown
  std::optional<KeyHistory> history_;
  std::string filter_;                 // the filter as typed
  std::optional<std::string> typing_;  // the filter being typed
  bool is_helping_ = false;
  std::optional<Confirmation> confirmation_;
  std::string note_;          // the result of the last action
  std::string failure_text_;  // why the last refresh failed
  TimeMs refresh_at_ = 0;
  bool is_over_ = false;
};

}  // namespace fairlock::cli
