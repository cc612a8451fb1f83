#include "server/values/sorted_set.h"

#include <algorithm>
#include <bit>
#include <new>
#include <tuple>
#include <utility>

namespace fairlock::values {

namespace {

bool IsBefore(const SortedSet::Member& one, const SortedSet::Member& other) {
  return std::tie(one.score, one.name) < std::tie(other.score, other.name);
}

rows::Element ElementOf(const SortedSet::Member& member) {
  return {.type = rows::ValueType::kSortedSet, .name = member.name, .score = member.score};
}

}  // namespace

SortedSet::Node* SortedSet::Node::Make(std::string_view name, double score, std::uint32_t levels) {
  void* bytes = ::operator new(sizeof(Node) + levels * sizeof(Link));
  auto* node = new (bytes) Node{{score, std::string(name)}, 0, levels, nullptr};
  for (std::uint32_t i = 0; i < levels; ++i) new (node->links() + i) Link();
  return node;
}

void SortedSet::Node::Free(Node* node) {
  node->~Node();
  ::operator delete(node);
}

SortedSet& SortedSet::operator=(SortedSet&& other) noexcept {
  members_ = std::move(other.members_);
  std::swap(first_, other.first_);
  std::swap(last_, other.last_);
  std::swap(dice_, other.dice_);
  std::swap(bytes_, other.bytes_);
  std::swap(changed_, other.changed_);
  return *this;
}

std::optional<double> SortedSet::ScoreOf(std::string_view name) const {
  const Node* node = members_.Find(name);
  if (node == nullptr) return std::nullopt;
  return node->score;
}

std::optional<std::size_t> SortedSet::RankOf(std::string_view name) const {
  const Node* node = members_.Find(name);
  if (node == nullptr) return std::nullopt;
  return CountWhile([&](const Member& member) { return IsBefore(member, *node); });
}

bool SortedSet::Set(std::string_view name, double score) {
  score += 0.0;  // -0 becomes 0
  if (Node* node = members_.Find(name)) {
    if (node->score == score) return false;
    changed_.Note(name);
    Unlink(*node);
    node->score = score;
    LinkIn(*node);
    return false;
  }
  changed_.Note(name);
  LinkIn(AddUnlinked(name, score));
  return true;
}

SortedSet::Node& SortedSet::AddUnlinked(std::string_view name, double score) {
  Node* node = Node::Make(name, score, ChooseLevels());
  members_.Add(*node);
  bytes_ += name.size() + kElementBytes;
  return *node;
}

bool SortedSet::Erase(std::string_view name) {
  Node* node = members_.Find(name);
  if (node != nullptr) Erase(*node);
  return node != nullptr;
}

void SortedSet::Erase(Node& node) {
  changed_.Note(node.name);
  bytes_ -= node.name.size() + kElementBytes;
  Unlink(node);
  members_.Remove(node);
  Node::Free(&node);
}

std::size_t SortedSet::EraseAll(std::span<const std::string_view> names) {
  const std::size_t before = size();
  for (const std::string_view name : names) Erase(name);
  return before - size();
}

void SortedSet::EraseRanks(std::size_t first, std::size_t end) {
  auto* node = first < end ? const_cast<Node*>(NodeAt(first)) : nullptr;
  for (std::size_t i = first; i < end; ++i) {
    Node* next = node->links()[0].next;
    Erase(*node);
    node = next;
  }
}

const SortedSet::Node* SortedSet::NodeAt(std::size_t rank) const {
  std::size_t passed = 0;  // ranks before or at the node
  const Node* at = nullptr;
  for (std::size_t level = first_.size(); level-- > 0;) {
    for (const Link* link = &LinksOf(at)[level];
         link->next != nullptr && passed + link->length <= rank + 1; link = &LinksOf(at)[level]) {
      passed += link->length;
      at = link->next;
    }
  }
  return at;
}

SortedSet::Path SortedSet::PathTo(const Member& member) {
  Path path{};
  Node* at = nullptr;
  std::size_t passed = 0;
  for (std::size_t level = first_.size(); level-- > 0;) {
    for (Link* link = &LinksOf(at)[level]; link->next != nullptr && IsBefore(*link->next, member);
         link = &LinksOf(at)[level]) {
      passed += link->length;
      at = link->next;
    }
    path.nodes[level] = at;
    path.ranks[level] = passed;
  }
  return path;
}

// The node is already counted in size().
void SortedSet::LinkIn(Node& node) {
  const auto others = static_cast<std::uint32_t>(size() - 1);
  Path path = PathTo(node);
  while (first_.size() < node.levels) {
    path.nodes[first_.size()] = nullptr;
    path.ranks[first_.size()] = 0;
    first_.push_back({.next = nullptr, .length = others});
  }
  for (std::size_t level = 0; level < first_.size(); ++level) {
    Link& link = LinksOf(path.nodes[level])[level];
    if (level >= node.levels) {
      ++link.length;
      continue;
    }
    const auto passed = static_cast<std::uint32_t>(path.ranks[0] - path.ranks[level]);
    node.links()[level] = {.next = link.next, .length = link.length - passed};
    link = {.next = &node, .length = passed + 1};
  }
  node.before = path.nodes[0];
  Node* next = node.links()[0].next;
  (next == nullptr ? last_ : next->before) = &node;
}

void SortedSet::LinkAll() {
  std::vector<Node*> nodes(size());
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = &members_.at(i);
  std::ranges::sort(nodes,
                    [](const Node* one, const Node* other) { return IsBefore(*one, *other); });
  for (const Node* node : nodes) first_.resize(std::max<std::size_t>(first_.size(), node->levels));
  // For each level, the link that the next node with this level continues, and the rank where it
  // begins.
  std::vector<std::pair<Link*, std::uint32_t>> ends;
  for (Link& link : first_) ends.emplace_back(&link, 0);
  std::uint32_t rank = 0;
  for (Node* node : nodes) {
    ++rank;
    for (std::uint32_t level = 0; level < node->levels; ++level) {
      auto& [link, begin] = ends[level];
      *link = {.next = node, .length = rank - begin};
      ends[level] = {&node->links()[level], rank};
    }
    node->before = std::exchange(last_, node);
  }
  for (const auto& [link, begin] : ends) *link = {.next = nullptr, .length = rank - begin};
}

void SortedSet::LogElements() {
  const bool is_restored = last_ == nullptr;
  if (is_restored) LinkAll();
  changed_.TurnOn();
}

void SortedSet::Unlink(Node& node) {
  const Path path = PathTo(node);
  for (std::size_t level = 0; level < first_.size(); ++level) {
    Link& link = LinksOf(path.nodes[level])[level];
    --link.length;
    if (link.next != &node) continue;
    link.length += node.links()[level].length;
    link.next = node.links()[level].next;
  }
  Node* next = node.links()[0].next;
  (next == nullptr ? last_ : next->before) = node.before;
}

// One level more for a quarter of the nodes.
std::uint32_t SortedSet::ChooseLevels() {
  dice_ += 0x9e37'79b9'7f4a'7c15;  // SplitMix64
  std::uint64_t bits = dice_;
  bits = (bits ^ (bits >> 30)) * 0xbf58'476d'1ce4'e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d0'49bb'1331'11eb;
  bits ^= bits >> 31;
  const auto quarters = static_cast<std::uint32_t>(std::countr_zero(bits | 1ULL << 62) / 2);
  return std::min<std::uint32_t>(quarters + 1, kLevelsMax);
}

void SortedSet::TakeChanged(const VisitElement& put, const VisitElement& erase) {
  for (const std::string& name : changed_.Take()) {
    const Node* node = members_.Find(name);
    if (node != nullptr) {
      put(ElementOf(*node));
    } else {
      erase({.type = rows::ValueType::kSortedSet, .name = name});
    }
  }
}

std::uint64_t SortedSet::VisitFrom(std::uint64_t cursor, std::size_t count,
                                   const VisitElement& visit) const {
  return VisitBackwards(size(), cursor, count,
                        [&](std::size_t at) { visit(ElementOf(members_.at(at))); });
}

}  // namespace fairlock::values
