# Takes and releases locks with Redis.pm, as worker.md describes.
use strict;
use warnings;
use IO::Select;
use JSON::PP;
use Redis;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC sleep);

my $owner = $ENV{OWNER};
my @keys = split /,/, $ENV{KEYS};
my %reconnect = (reconnect => 2, every => 20_000);
my %where = $ENV{MODE} eq 'sentinel'
    ? (sentinels => [split /,/, $ENV{SENTINELS}], service => 'main')
    : (server => $ENV{NODE});
my $json = JSON::PP->new;
my $client;
$| = 1;

sub microseconds { return int(clock_gettime(CLOCK_MONOTONIC) * 1e6) }

# Repeats the request until it is answered.
sub ask {
    my ($op, @words) = @_;
    while (1) {
        my %line = (op => $op, key => $words[0], begun => microseconds());
        my $reply = eval {
            $client //= Redis->new(%where, %reconnect);
            $client->$op(@words);
        };
        $line{ended} = microseconds();
        if ($@) {
            $line{error} = (split /\n/, $@)[0];
        } else {
            $line{reply} = defined $reply ? int($reply) : undef;
        }
        print $json->encode(\%line), "\n";
        return $line{reply} if exists $line{reply};
        sleep 0.01;
    }
}

my $held_key = "$owner:held";
my $held = ask('LOCK', $held_key, $owner, 'PX', 600_000);
my $input = IO::Select->new(\*STDIN);
for (my $turn = 0; !$input->can_read(0.02); $turn++) {
    my $key = $keys[$turn % @keys];
    my $token = ask('LOCK', $key, $owner, 'PX', 30_000, 'WAIT', '200ms');
    if (defined $token) {
        sleep 0.005;
        ask('CHECK', $key, $token);
        ask('UNLOCK', $key, $owner);
    }
    ask('RENEW', $held_key, $owner, 'PX', 600_000, 'TOKEN', $held);
}
