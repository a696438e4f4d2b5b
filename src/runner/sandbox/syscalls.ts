/**
 * System calls that no command of an agent needs, by the numbers of each machine (Linux, `arch/x86/entry/syscalls/
 * syscall_64.tbl` and `scripts/syscall.tbl`, 6.18). A number of 424 and above is the same on both.
 */

/** `arch` in the kernel's words (`AUDIT_ARCH_*`): of a call made in any other way, the numbers mean something else. */
export interface Machine {
  readonly arch: number
  /** Numbers with this bit are the x32 ABI's, whose calls are the same ones under other numbers. */
  readonly x32Bit?: number
  readonly clone: number
  readonly ioctl: number
  readonly socket: number
  readonly socketpair: number
  readonly refused: readonly number[]
  /** Memory that belongs to no process that could be counted: `memfd_create`, `memfd_secret`, `shmget`. */
  readonly hiddenMemory: readonly number[]
}

/** Above it are calls that nobody has looked at yet. */
export const LAST_KNOWN_CALL = 467
export const CLONE3 = 435

const REFUSED_EVERYWHERE = [
  425, // io_uring_setup: its work passes by every filter
  426, // io_uring_enter
  427, // io_uring_register
  428, // open_tree
  429, // move_mount
  430, // fsopen
  431, // fsconfig
  432, // fsmount
  433, // fspick
  438, // pidfd_getfd
  440, // process_madvise
  442, // mount_setattr
  443, // quotactl_fd
  467, // open_tree_attr
] as const
const MEMFD_SECRET = 447

const X64_REFUSED = [
  101, // ptrace
  103, // syslog
  134, // uselib
  139, // sysfs
  153, // vhangup
  154, // modify_ldt
  155, // pivot_root
  156, // _sysctl
  159, // adjtimex
  161, // chroot
  163, // acct
  164, // settimeofday
  165, // mount
  166, // umount2
  167, // swapon
  168, // swapoff
  169, // reboot
  170, // sethostname
  171, // setdomainname
  172, // iopl
  173, // ioperm
  174, // create_module
  175, // init_module
  176, // delete_module
  177, // get_kernel_syms
  178, // query_module
  179, // quotactl
  180, // nfsservctl
  212, // lookup_dcookie
  227, // clock_settime
  246, // kexec_load
  248, // add_key
  249, // request_key
  250, // keyctl
  272, // unshare
  298, // perf_event_open
  300, // fanotify_init
  301, // fanotify_mark
  303, // name_to_handle_at
  304, // open_by_handle_at
  305, // clock_adjtime
  308, // setns
  310, // process_vm_readv
  311, // process_vm_writev
  312, // kcmp
  313, // finit_module
  320, // kexec_file_load
  321, // bpf
  323, // userfaultfd
] as const

const ARM64_REFUSED = [
  18, // lookup_dcookie
  39, // umount2
  40, // mount
  41, // pivot_root
  42, // nfsservctl
  51, // chroot
  58, // vhangup
  60, // quotactl
  89, // acct
  97, // unshare
  104, // kexec_load
  105, // init_module
  106, // delete_module
  112, // clock_settime
  116, // syslog
  117, // ptrace
  142, // reboot
  161, // sethostname
  162, // setdomainname
  170, // settimeofday
  171, // adjtimex
  217, // add_key
  218, // request_key
  219, // keyctl
  224, // swapon
  225, // swapoff
  241, // perf_event_open
  262, // fanotify_init
  263, // fanotify_mark
  264, // name_to_handle_at
  265, // open_by_handle_at
  266, // clock_adjtime
  268, // setns
  270, // process_vm_readv
  271, // process_vm_writev
  272, // kcmp
  273, // finit_module
  280, // bpf
  282, // userfaultfd
  294, // kexec_file_load
] as const

/** By `process.arch`. */
export const MACHINES: Readonly<Record<string, Machine>> = {
  x64: {
    arch: 0xc000003e,
    x32Bit: 0x40000000,
    clone: 56,
    ioctl: 16,
    socket: 41,
    socketpair: 53,
    refused: [...X64_REFUSED, ...REFUSED_EVERYWHERE],
    hiddenMemory: [319, MEMFD_SECRET, 29],
  },
  arm64: {
    arch: 0xc00000b7,
    clone: 220,
    ioctl: 29,
    socket: 198,
    socketpair: 199,
    refused: [...ARM64_REFUSED, ...REFUSED_EVERYWHERE],
    hiddenMemory: [279, MEMFD_SECRET, 194],
  },
}
