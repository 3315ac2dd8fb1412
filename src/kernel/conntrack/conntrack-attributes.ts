// linux/netfilter/nfnetlink.h, nfnetlink_conntrack.h, nf_conntrack_common.h

export const NFNL_SUBSYS_CTNETLINK = 1;

export const IPCTNL_MSG_CT_NEW = 0;
export const IPCTNL_MSG_CT_GET = 1;
export const IPCTNL_MSG_CT_DELETE = 2;
export const IPCTNL_MSG_CT_GET_STATS = 5;

// enum ctattr_type
export const CTA_TUPLE_ORIG = 1;
export const CTA_TUPLE_REPLY = 2;
export const CTA_STATUS = 3;
export const CTA_PROTOINFO = 4;
export const CTA_TIMEOUT = 7;
export const CTA_MARK = 8;
export const CTA_ID = 12;
export const CTA_ZONE = 18;
export const CTA_FILTER = 25;
export const CTA_STATUS_MASK = 26;

// enum ctattr_tuple
export const CTA_TUPLE_IP = 1;
export const CTA_TUPLE_PROTO = 2;

// enum ctattr_ip
export const CTA_IP_V4_SRC = 1;
export const CTA_IP_V4_DST = 2;
export const CTA_IP_V6_SRC = 3;
export const CTA_IP_V6_DST = 4;

// enum ctattr_l4proto
export const CTA_PROTO_NUM = 1;
export const CTA_PROTO_SRC_PORT = 2;
export const CTA_PROTO_DST_PORT = 3;

// enum ctattr_protoinfo, ctattr_protoinfo_tcp and ctattr_protoinfo_sctp
export const CTA_PROTOINFO_TCP = 1;
export const CTA_PROTOINFO_SCTP = 3;
export const CTA_PROTOINFO_TCP_STATE = 1;
export const CTA_PROTOINFO_SCTP_STATE = 1;

// enum ctattr_filter; the flag bits are CTA_FILTER_F_* in the kernel's nf_conntrack_netlink.c.
export const CTA_FILTER_ORIG_FLAGS = 1;
export const CTA_FILTER_F_CTA_PROTO_NUM = 1 << 3;

// enum ctattr_stats_global
export const CTA_STATS_GLOBAL_ENTRIES = 1;

// enum ip_conntrack_status
export const IPS_SEEN_REPLY = 1 << 1;

// enum tcp_conntrack, enum sctp_conntrack
export const TCP_CONNTRACK_SYN_SENT = 1;
export const SCTP_CONNTRACK_CLOSED = 1;
export const SCTP_CONNTRACK_COOKIE_WAIT = 2;

// linux/in.h
export const IPPROTO_TCP = 6;
export const IPPROTO_UDP = 17;
export const IPPROTO_SCTP = 132;
