// A string that a library function builds for a script.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

struct lua_State;

namespace fairlock::script {

// The memory is allocated outside Lua, but counts towards the script's memory limit: appending
// raises a Lua error if that limit would be exceeded. Appended bytes are charged to the budget.
class BoundedText {
 public:
  explicit BoundedText(lua_State* lua);

  void Append(std::string_view bytes) {
    Reserve(bytes.size());
    text_.append(bytes);
  }
  void Append(char c) {
    Reserve(1);
    text_.push_back(c);
  }

  std::string_view view() const { return text_; }
  // Pushes the built string onto the Lua stack.
  void Push() const;

 private:
  void Reserve(std::size_t bytes);

  lua_State* lua_;
  std::size_t bytes_max_;
  std::size_t bytes_not_charged_ = 0;
  std::string text_;
};

}  // namespace fairlock::script
