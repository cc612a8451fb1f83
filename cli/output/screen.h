// What the output is: a terminal of some width, with or without colours, or something else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/output/printable.h"

namespace fairlock::cli {

enum class Tint { kNone, kHeading, kGood, kWarning, kBad, kFaint };

struct Screen {
  bool is_terminal = false;
  bool has_colours = false;
  std::size_t columns = 0;  // 0: without end
  // A table may leave columns out rather than make the others too narrow to be read.
  bool may_drop_columns = false;
  Charset charset = Charset::kAscii;

  // With the codes of the tint, if there are colours.
  std::string Tinted(std::string_view printable, Tint tint) const;
  std::string Printable(std::string_view bytes) const { return cli::Printable(bytes, charset); }
  std::string Quoted(std::string_view bytes) const { return cli::Quoted(bytes, charset); }
};

// Of the descriptor: colours only on a terminal, without NO_COLOR, and not with TERM=dumb.
Screen LookAtScreen(int descriptor, Charset charset);

}  // namespace fairlock::cli
