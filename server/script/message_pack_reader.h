// Parses MessagePack into Lua values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

struct lua_State;

namespace fairlock::script {

// Reads one value after the other. Accepts what cmsgpack in Redis does: neither `bin` nor `ext`.
class MessagePackReader {
 public:
  // REQUIRES: at <= bytes.size().
  MessagePackReader(lua_State* lua, std::string_view bytes, std::size_t at)
      : lua_(lua), bytes_(bytes), at_(at) {}

  bool is_at_end() const { return at_ == bytes_.size(); }
  std::size_t at() const { return at_; }
  // Pushes the next value. Raises a Lua error, in the wording of cmsgpack, if there is none.
  void Read();

 private:
  std::string_view Take(std::size_t bytes);
  template <typename Number>
  Number TakeNumber();
  void ReadText(std::size_t bytes);
  void ReadArray(std::size_t count);
  void ReadMap(std::size_t count);
  void ReadTagged(std::uint8_t tag);

  lua_State* lua_;
  std::string_view bytes_;
  std::size_t at_;
};

}  // namespace fairlock::script
