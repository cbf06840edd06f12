/* What guests measure with, and what busybox cannot do. Times are the guest's CLOCK_MONOTONIC, in nanoseconds.
 *   probe echo PORT                        UDP: sends back what comes
 *   probe rtt HOST PORT COUNT GAP_MS SIZE  UDP: prints every round trip
 *   probe sink PORT                        TCP: reads, prints bytes and rate when the other side ends
 *   probe send HOST PORT BYTES [CC]        TCP: writes BYTES
 *   probe rounds RANK COUNT HOST1 HOST2    rank 0 sends to 1 and then to 2; 1 sends to 2 at once; 2 counts what comes out of order
 *   probe until NS                         sleeps until the machine's clock is there
 *   probe clock                            prints the machine's clock and CLOCK_MONOTONIC
 *   probe clocks                           prints all clocks: the machine's first, then what the others showed at that time
 *   probe waits NS                         waits this long in each way that Linux has, prints what the machine's clock says of it
 *   probe work COUNT                       executes COUNT pairs of instructions, prints the same
 *   probe date NS                          sets the calendar clocks: this many nanoseconds after 1970 when the machine's clock was 0
 *   probe seed HEX                         draws the kernel's random numbers from these bytes from now on
 *
 * The machine's clock is the time stamp counter, which under the emulator's -icount counts nanoseconds of virtual time.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/random.h>
#include <linux/rtc.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static int64_t read_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static int64_t now(void) { return read_clock(CLOCK_MONOTONIC); }
static struct sockaddr_in address(const char *host, const char *port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    inet_aton(host, &a.sin_addr);
    return a;
}
static int udp(const char *port) {
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in a = address("0.0.0.0", port);
    if (bind(s, (struct sockaddr *)&a, sizeof a)) perror("bind"), exit(1);
    return s;
}
static void sleep_until(int64_t clock) {
    for (int64_t left; (left = clock - (int64_t)__rdtsc()) > 0;) {
        struct timespec t = {left / 1000000000, left % 1000000000};
        nanosleep(&t, NULL);
    }
}
/* Bytes written to /dev/urandom count from the next reseeding on, up to a minute later: therefore the two requests. */
static int seed(const char *digits) {
    struct { struct rand_pool_info info; unsigned char bytes[64]; } pool = {.info = {0}};
    int random = open("/dev/urandom", O_WRONLY), count = 0;
    while (count < (int)sizeof pool.bytes && sscanf(digits + 2 * count, "%2hhx", &pool.bytes[count]) == 1) count++;
    pool.info.buf_size = count;
    pool.info.entropy_count = 8 * count;
    return random < 0 || ioctl(random, RNDADDENTROPY, &pool) || ioctl(random, RNDRESEEDCRNG);
}
/* The calendar chip, in seconds since 1970; -1 if there is none. */
static int64_t calendar(void) {
    struct rtc_time r;
    int rtc = open("/dev/rtc0", O_RDONLY), failed = rtc < 0 || ioctl(rtc, RTC_RD_TIME, &r);
    if (rtc >= 0) close(rtc);
    if (failed) return -1;
    struct tm t = {.tm_sec = r.tm_sec, .tm_min = r.tm_min, .tm_hour = r.tm_hour, .tm_mday = r.tm_mday, .tm_mon = r.tm_mon,
                   .tm_year = r.tm_year};
    return timegm(&t);
}
/* The ACPI timer, which the kernel is told not to use: 24 bits at 3,579,545 Hz, at the port where the firmware puts it. */
static int64_t acpi_timer(void) { return ioperm(0x608, 4, 1) ? -1 : (int64_t)(inl(0x608) & 0xffffff); }
static void clocks(void) {
    long long acpi = acpi_timer(), machine = __rdtsc(), monotonic = now(), raw = read_clock(CLOCK_MONOTONIC_RAW);
    long long boot = read_clock(CLOCK_BOOTTIME), real = read_clock(CLOCK_REALTIME), tai = read_clock(CLOCK_TAI);
    printf("clocks %lld %lld %lld %lld %lld %lld %lld ", machine, monotonic, raw, boot, real, tai, acpi);
    printf("%lld\n", (long long)calendar());
}
static void wait_timerfd(clockid_t clock, int64_t ns) {
    int64_t until = read_clock(clock) + ns;
    struct itimerspec t = {.it_value = {until / 1000000000, until % 1000000000}};
    int fd = timerfd_create(clock, 0);
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL);
    if (read(fd, &until, sizeof until) < 0) perror("timerfd");
    close(fd);
}
static void wait_until(clockid_t clock, int64_t ns) {
    int64_t until = read_clock(clock) + ns;
    struct timespec t = {until / 1000000000, until % 1000000000};
    clock_nanosleep(clock, TIMER_ABSTIME, &t, NULL);
}
static void waits(int64_t ns) {
    static const char *const names[] = {"nanosleep", "monotonic", "realtime", "timerfd-monotonic", "timerfd-realtime", "poll"};
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    for (int way = 0; way < 6; way++) {
        int64_t start = __rdtsc();
        if (way == 0) nanosleep(&t, NULL);
        if (way == 1 || way == 2) wait_until(way == 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME, ns);
        if (way == 3 || way == 4) wait_timerfd(way == 3 ? CLOCK_MONOTONIC : CLOCK_REALTIME, ns);
        if (way == 5) poll(NULL, 0, ns / 1000000);
        printf("waited %lld %s\n", (long long)(__rdtsc() - start), names[way]);
    }
}
static void work(int64_t count) {
    int64_t start = __rdtsc(), left = count;
    __asm__ volatile("1: dec %0; jnz 1b" : "+r"(left) : : "cc");
    printf("worked %lld %lld\n", (long long)(__rdtsc() - start), (long long)count);
}
/* The chip counts whole seconds, and keeps the phase in which it began. */
static int date(int64_t epoch) {
    int64_t real = epoch + (int64_t)__rdtsc();
    struct timespec t = {real / 1000000000, real % 1000000000};
    if (clock_settime(CLOCK_REALTIME, &t)) return 1;
    struct tm *parts = gmtime(&t.tv_sec);
    struct rtc_time r = {.tm_sec = parts->tm_sec, .tm_min = parts->tm_min, .tm_hour = parts->tm_hour, .tm_mday = parts->tm_mday,
                         .tm_mon = parts->tm_mon, .tm_year = parts->tm_year};
    int rtc = open("/dev/rtc0", O_RDONLY);
    return rtc < 0 || ioctl(rtc, RTC_SET_TIME, &r);
}
int main(int argc, char **argv) {
    static char buffer[65536];
    struct sockaddr_in a;
    socklen_t length = sizeof a;
    if (argc == 2 && !strcmp(argv[1], "clock")) {
        printf("clock %lld monotonic %lld\n", (long long)__rdtsc(), (long long)now());
        return 0;
    }
    if (argc == 2 && !strcmp(argv[1], "clocks")) return clocks(), 0;
    if (argc < 3) return 2;
    if (!strcmp(argv[1], "waits")) waits(atoll(argv[2]));
    if (!strcmp(argv[1], "work")) work(atoll(argv[2]));
    if (!strcmp(argv[1], "date") && date(atoll(argv[2]))) perror("date");
    if (!strcmp(argv[1], "until")) sleep_until(atoll(argv[2]));
    if (!strcmp(argv[1], "seed") && seed(argv[2])) perror("seed");
    if (!strcmp(argv[1], "echo")) {
        int s = udp(argv[2]);
        for (ssize_t n; (n = recvfrom(s, buffer, sizeof buffer, 0, (struct sockaddr *)&a, &length)) >= 0;)
            sendto(s, buffer, n, 0, (struct sockaddr *)&a, length);
    } else if (!strcmp(argv[1], "rtt")) {
        int s = udp("0"), size = atoi(argv[6]);
        a = address(argv[2], argv[3]);
        for (int i = 0; i < atoi(argv[4]); i++) {
            int64_t start = now();
            sendto(s, buffer, size, 0, (struct sockaddr *)&a, sizeof a);
            recv(s, buffer, sizeof buffer, 0);
            printf("rtt %d %lld\n", i, (long long)(now() - start));
            usleep(atoi(argv[5]) * 1000);
        }
    } else if (!strcmp(argv[1], "sink")) {
        int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;
        setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        a = address("0.0.0.0", argv[2]);
        bind(l, (struct sockaddr *)&a, sizeof a), listen(l, 5);
        int s = accept(l, NULL, NULL);
        int64_t start = now(), total = 0, half = 0, at = 0;
        for (ssize_t n; (n = read(s, buffer, sizeof buffer)) > 0;) {
            total += n;
            if (!at && now() - start > 1000000000) at = now(), half = total;
        }
        int64_t end = now();
        printf("sink %lld bytes %lld ns %.3f Mbit/s, after the first second %.3f Mbit/s\n", (long long)total, (long long)(end - start),
               8e3 * total / (end - start), at ? 8e3 * (total - half) / (end - at) : 0.0);
    } else if (!strcmp(argv[1], "send")) {
        int s = socket(AF_INET, SOCK_STREAM, 0);
        if (argc > 5) setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, argv[5], strlen(argv[5]));
        a = address(argv[2], argv[3]);
        if (connect(s, (struct sockaddr *)&a, sizeof a)) perror("connect"), exit(1);
        for (int64_t left = atoll(argv[4]); left > 0;) {
            ssize_t n = write(s, buffer, left < (int64_t)sizeof buffer ? left : (int64_t)sizeof buffer);
            if (n <= 0) perror("write"), exit(1);
            left -= n;
        }
    } else if (!strcmp(argv[1], "rounds")) {
        int rank = atoi(argv[2]), count = atoi(argv[3]), wrong = 0, s = udp("7000");
        struct sockaddr_in one = address(argv[4], "7000"), two = address(argv[5], "7000"), from;
        char go = 0;
        for (int i = 0; i < count; i++) {
            if (rank == 0) {
                char zero = 0;
                sendto(s, &zero, 1, 0, (struct sockaddr *)&one, sizeof one);
                sendto(s, &zero, 1, 0, (struct sockaddr *)&two, sizeof two);
                recv(s, &go, 1, 0);
            } else if (rank == 1) {
                char mark = 1;
                recv(s, &go, 1, 0);
                sendto(s, &mark, 1, 0, (struct sockaddr *)&two, sizeof two);
            } else {
                char first = 9, second = 9;
                length = sizeof from;
                recvfrom(s, &first, 1, 0, (struct sockaddr *)&from, &length);
                if (first == 0) a = from;
                recvfrom(s, &second, 1, 0, (struct sockaddr *)&from, &length);
                if (second == 0) a = from;
                wrong += first != 0;
                sendto(s, &go, 1, 0, (struct sockaddr *)&a, sizeof a);
            }
        }
        if (rank == 2) printf("rounds %d wrong %d\n", count, wrong);
    }
    return 0;
}
