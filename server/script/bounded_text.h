// Text that a function of the library puts together for a script.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

struct lua_State;

namespace fairlock::script {

// Stands outside of Lua's memory and is bounded as if it stood there: an error of Lua is raised
// where it would become longer than the script may use memory. What is appended is charged.
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
  // Makes it a string of Lua on top of the stack.
  void Push() const;

 private:
  void Reserve(std::size_t bytes);

  lua_State* lua_;
  std::size_t bytes_max_;
  std::size_t bytes_not_charged_ = 0;
  std::string text_;
};

}  // namespace fairlock::script
