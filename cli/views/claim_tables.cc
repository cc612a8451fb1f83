#include "cli/views/claim_tables.h"

#include <algorithm>

#include "cli/connection/reply_fields.h"
#include "cli/output/duration.h"
#include "cli/output/table.h"

namespace fairlock::cli {

namespace {

// A lease with less time left than this is highlighted.
constexpr DurationMs kEndsSoonMs = 5000;

std::string ModeText(const ClaimantView& who) {
  return who.limit > 1 ? who.mode + " of " + std::to_string(who.limit) : who.mode;
}

std::string SessionText(const HolderView& holder) {
  return holder.session.empty() ? "-" : holder.session;
}

Tint TintOfTtl(const HolderView& holder) {
  return holder.ttl_ms && *holder.ttl_ms < kEndsSoonMs ? Tint::kWarning : Tint::kNone;
}

Tint TintOfState(const PlaceView& place) {
  return place.state == "absent" ? Tint::kFaint : Tint::kNone;
}

std::string PlaceTimeLeft(const PlaceView& place) {
  if (place.keep_ms) return "kept " + ShowDuration(*place.keep_ms);
  return ShowTimeLeft(place.wait_left_ms, place.state == "waiting" ? "forever" : "-");
}

// The values that are a library's locks do not tell which client took them.
bool IsOfLibrary(const ClaimantView& who) { return who.address.empty() && who.user.empty(); }

std::string Elapsed(const ClaimantView& who, DurationMs elapsed_ms) {
  return IsOfLibrary(who) && elapsed_ms == 0 ? "-" : ShowDuration(elapsed_ms);
}

std::string Origin(const ClaimantView& who, const Screen& screen) {
  return IsOfLibrary(who) ? "-" : ShowOrigin(who, screen);
}

}  // namespace

std::string ShowTimeLeft(const std::optional<DurationMs>& left_ms, const std::string& if_none) {
  return left_ms ? ShowDuration(std::max<DurationMs>(*left_ms, 0)) : if_none;
}

std::string ShowLeaseLeft(const HolderView& holder) {
  if (holder.is_leaving) return "leaving within " + ShowTimeLeft(holder.ttl_ms, "");
  return holder.ttl_ms ? "lease left " + ShowTimeLeft(holder.ttl_ms, "") : "unlimited lease";
}

std::string FirstHolderText(const protocol::Reply& explanation, const Screen& screen) {
  const protocol::Reply* const holders = FindField(explanation, "holders");
  if (holders == nullptr || holders->elements.empty()) return "";
  const HolderView holder = ReadHolder(holders->elements.front());
  return screen.Quoted(holder.who.owner) + " has held it for " + ShowDuration(holder.held_ms) +
         ", " + ShowLeaseLeft(holder);
}

std::string ShowOrigin(const ClaimantView& who, const Screen& screen) {
  std::string text = who.address.empty() ? "unknown" : screen.Printable(who.address);
  std::string notes;
  const auto add = [&](const std::string& note) { notes += (notes.empty() ? "" : ", ") + note; };
  if (!who.client_name.empty()) add(screen.Printable(who.client_name));
  if (!who.user.empty() && who.user != "default") add("user " + screen.Printable(who.user));
  if (!who.is_connected) add("gone");
  return notes.empty() ? text : text + " (" + notes + ")";
}

std::string HoldersTable(const std::vector<HolderView>& holders, const Screen& screen) {
  Table table({{.title = "HOLDER", .may_shrink = true},
               {.title = "TOKEN", .is_right_aligned = true, .drop_order = 5},
               {.title = "MODE", .drop_order = 4},
               {.title = "HELD FOR", .is_right_aligned = true},
               {.title = "LEASE LEFT", .is_right_aligned = true},
               {.title = "SESSION", .drop_order = 2},
               {.title = "FROM", .may_shrink = true, .drop_order = 6},
               {.title = "LABEL", .may_shrink = true, .drop_order = 3},
               {.title = "META", .may_shrink = true, .drop_order = 1}},
              screen);
  for (const HolderView& holder : holders) {
    table.Add({{screen.Printable(holder.who.owner), Tint::kGood},
               {holder.token == 0 ? "-" : std::to_string(holder.token)},
               {ModeText(holder.who)},
               {Elapsed(holder.who, holder.held_ms)},
               {ShowTimeLeft(holder.ttl_ms, "unlimited") + (holder.is_leaving ? ", leaving" : ""),
                TintOfTtl(holder)},
               {SessionText(holder)},
               {Origin(holder.who, screen)},
               {screen.Printable(holder.who.label)},
               {screen.Printable(holder.who.meta)}});
  }
  return table.Flush();
}

std::string PlacesTable(const std::vector<PlaceView>& places, const Screen& screen) {
  Table table({{.title = "PLACE", .is_right_aligned = true},
               {.title = "OWNER", .may_shrink = true},
               {.title = "MODE", .drop_order = 4},
               {.title = "WAITED", .is_right_aligned = true},
               {.title = "TIME LEFT", .is_right_aligned = true, .drop_order = 7},
               {.title = "STATE", .drop_order = 5},
               {.title = "FROM", .may_shrink = true, .drop_order = 6},
               {.title = "LABEL", .may_shrink = true, .drop_order = 3},
               {.title = "META", .may_shrink = true, .drop_order = 1}},
              screen);
  for (const PlaceView& place : places) {
    table.Add({{std::to_string(place.position)},
               {screen.Printable(place.who.owner)},
               {ModeText(place.who)},
               {Elapsed(place.who, place.waited_ms)},
               {PlaceTimeLeft(place)},
               {place.state, TintOfState(place)},
               {Origin(place.who, screen)},
               {screen.Printable(place.who.label)},
               {screen.Printable(place.who.meta)}});
  }
  return table.Flush();
}

}  // namespace fairlock::cli
