// The first bytes of values in MessagePack. Source: the MessagePack specification, "Formats".
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlock::script {

// Small values are in the low bits of their first byte.
inline constexpr std::uint64_t kFixPositiveMax = 0x7f;
inline constexpr std::int64_t kFixNegativeMin = -32;
inline constexpr std::uint8_t kFixMap = 0x80;
inline constexpr std::uint8_t kFixArray = 0x90;
inline constexpr std::uint8_t kFixText = 0xa0;
inline constexpr std::uint8_t kFixNegative = 0xe0;
inline constexpr std::size_t kFixArrayMax = 15;  // and of a map
inline constexpr std::size_t kFixTextMax = 31;

inline constexpr std::uint8_t kTagNil = 0xc0;
inline constexpr std::uint8_t kTagFalse = 0xc2;
inline constexpr std::uint8_t kTagTrue = 0xc3;
inline constexpr std::uint8_t kTagFloat = 0xca;
inline constexpr std::uint8_t kTagDouble = 0xcb;
inline constexpr std::uint8_t kTagUint8 = 0xcc;
inline constexpr std::uint8_t kTagUint16 = 0xcd;
inline constexpr std::uint8_t kTagUint32 = 0xce;
inline constexpr std::uint8_t kTagUint64 = 0xcf;
inline constexpr std::uint8_t kTagInt8 = 0xd0;
inline constexpr std::uint8_t kTagInt16 = 0xd1;
inline constexpr std::uint8_t kTagInt32 = 0xd2;
inline constexpr std::uint8_t kTagInt64 = 0xd3;
inline constexpr std::uint8_t kTagText8 = 0xd9;
inline constexpr std::uint8_t kTagText16 = 0xda;
inline constexpr std::uint8_t kTagText32 = 0xdb;
inline constexpr std::uint8_t kTagArray16 = 0xdc;
inline constexpr std::uint8_t kTagArray32 = 0xdd;
inline constexpr std::uint8_t kTagMap16 = 0xde;
inline constexpr std::uint8_t kTagMap32 = 0xdf;

}  // namespace fairlock::script
